/** Names and labels of created objects. */

import { createHash } from 'node:crypto';
import { TEAM_LABEL } from '../../../api/index.ts';
import type { ObjectMeta } from '../../../runtime/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { RESOURCE_UID_LABEL } from '../../messages.ts';

const prefix = 'broker.platform.company.com';
/** Labels of every created object: the broker, and the object it belongs to. */
export const BROKER_LABEL = `${prefix}/name`;
export const UID_LABEL = RESOURCE_UID_LABEL;
const KIND_LABEL = `${prefix}/resource-kind`;
const NAME_LABEL = `${prefix}/resource-name`;
/** The component of a Pod: those of a service are not those of its backups. */
const COMPONENT_LABEL = `${prefix}/component`;
const DEPLOYMENT_ANNOTATION = `${prefix}/deployment-id`;
export const ROTATED_ANNOTATION = `${prefix}/rotated-at`;
export const ROTATION_ANNOTATION = `${prefix}/rotation`;
export const REVISION_ANNOTATION = `${prefix}/credentials-revision`;
/**
 * A label of a platform object whose change requests a rotation. Users set it, so it is not one of the platform's own.
 */
export const ROTATE_LABEL = `${prefix}/rotate`;
const COST_LABEL_PREFIX = 'cost.platform.company.com/';

/** The namespace of created objects: that of the platform object, with the prefix of the target. */
export function namespaceOf({ resource, target }: DeploymentRequest): string {
  return bounded(`${target.parameters?.namespacePrefix ?? ''}${resource.namespace}`, 63);
}

/** The name; if it is too long, its beginning and a digest. */
export function bounded(name: string, length: number): string {
  if (name.length <= length) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, length - 9).replace(/[-.]+$/, '')}-${digest}`;
}

/** A string as a label value: itself if that is valid, else a digest. */
export function labelValue(text: string): string {
  const isValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(text) && text.length <= 63;
  return isValue ? text : `h-${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
}

const ownLabels = (broker: string, uid: string): Record<string, string> => ({
  [BROKER_LABEL]: labelValue(broker),
  [UID_LABEL]: labelValue(uid),
});

/** Labels of all objects of a request. Cost tags are labels if their values are valid; all are annotations. */
export function labelsOf(request: DeploymentRequest): Record<string, string> {
  const { resource, team } = request;
  return {
    'app.kubernetes.io/name': resource.name,
    'app.kubernetes.io/managed-by': 'kidp-broker',
    ...ownLabels(request.broker, resource.uid),
    [KIND_LABEL]: resource.kind,
    [NAME_LABEL]: labelValue(resource.name),
    ...(team === undefined ? {} : { [TEAM_LABEL]: labelValue(team) }),
    ...costTags(request, (value) => labelValue(value) === value),
  };
}

export function annotationsOf(request: DeploymentRequest): Record<string, string> {
  return { [DEPLOYMENT_ANNOTATION]: request.deploymentId, ...costTags(request, () => true) };
}

function costTags(
  { costTags: tags = {} }: DeploymentRequest,
  wanted: (value: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tags)
      .filter(([key, value]) => /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(key) && wanted(value))
      .map(([key, value]) => [`${COST_LABEL_PREFIX}${key}`, value]),
  );
}

export function metadataOf(request: DeploymentRequest, name: string): ObjectMeta {
  return { name, namespace: namespaceOf(request), labels: labelsOf(request), annotations: annotationsOf(request) };
}

/** The selector of the Pods of one component. It never changes, because selectors are immutable. */
export const selectorOf = (request: DeploymentRequest, component: string): Record<string, string> => ({
  [UID_LABEL]: labelValue(request.resource.uid),
  [COMPONENT_LABEL]: component,
});

/** Whether an object belongs to a request: created by the addressed broker or one that it took over from. */
export function isOurs(
  { labels = {} }: ObjectMeta,
  { broker, formerBrokers = [], resource }: Pick<DeploymentRequest, 'broker' | 'formerBrokers' | 'resource'>,
): boolean {
  const makers = [broker, ...formerBrokers].map(labelValue);
  return labels[UID_LABEL] === labelValue(resource.uid) && makers.includes(labels[BROKER_LABEL] ?? '');
}
