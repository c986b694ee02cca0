/** What the things that are made are called, and the labels that say whose they are. */

import { createHash } from 'node:crypto';
import { TEAM_LABEL } from '../../../api/index.ts';
import type { ObjectMeta } from '../../../runtime/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { RESOURCE_UID_LABEL } from '../../messages.ts';

const prefix = 'broker.platform.company.com';
/** On everything that a broker makes: its name, and the object that it was made for. */
export const BROKER_LABEL = `${prefix}/name`;
export const UID_LABEL = RESOURCE_UID_LABEL;
const KIND_LABEL = `${prefix}/resource-kind`;
const NAME_LABEL = `${prefix}/resource-name`;
/** Which pods of an object: those of the service are not those of its backups. */
const COMPONENT_LABEL = `${prefix}/component`;
const DEPLOYMENT_ANNOTATION = `${prefix}/deployment-id`;
export const ROTATED_ANNOTATION = `${prefix}/rotated-at`;
export const ROTATION_ANNOTATION = `${prefix}/rotation`;
export const REVISION_ANNOTATION = `${prefix}/credentials-revision`;
/** On an object of the platform: another value than before asks for new credentials. Users set it, so it is not the platform's own. */
export const ROTATE_LABEL = `${prefix}/rotate`;
const COST_LABEL_PREFIX = 'cost.platform.company.com/';

/** In which namespace things are made: that of the object, with a prefix where the target asks for one. */
export function namespaceOf({ resource, target }: DeploymentRequest): string {
  return bounded(`${target.parameters?.namespacePrefix ?? ''}${resource.namespace}`, 63);
}

/** The name, and where that would be too long its beginning and a digest of all of it. */
export function bounded(name: string, length: number): string {
  if (name.length <= length) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, length - 9).replace(/[-.]+$/, '')}-${digest}`;
}

/** A text as the value of a label: itself where that is allowed. */
export function labelValue(text: string): string {
  const isValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(text) && text.length <= 63;
  return isValue ? text : `h-${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
}

const ownLabels = (broker: string, uid: string): Record<string, string> => ({
  [BROKER_LABEL]: labelValue(broker),
  [UID_LABEL]: labelValue(uid),
});

/** Labels of everything that is made for a request. Cost tags are labels where their values can be; all are annotations. */
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

/** What selects the pods of one component; it never changes, as a selector must not. */
export const selectorOf = (request: DeploymentRequest, component: string): Record<string, string> => ({
  [UID_LABEL]: labelValue(request.resource.uid),
  [COMPONENT_LABEL]: component,
});

/** Whether something was made for the object of a request, by the broker that is asked or by one that it has taken over from. */
export function isOurs(
  { labels = {} }: ObjectMeta,
  { broker, formerBrokers = [], resource }: Pick<DeploymentRequest, 'broker' | 'formerBrokers' | 'resource'>,
): boolean {
  const makers = [broker, ...formerBrokers].map(labelValue);
  return labels[UID_LABEL] === labelValue(resource.uid) && makers.includes(labels[BROKER_LABEL] ?? '');
}
