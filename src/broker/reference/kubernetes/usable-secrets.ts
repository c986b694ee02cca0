/**
 * Which Secrets an object may use by name. Users who cannot read a Secret could otherwise mount it into an image of
 * their choice: so it must have been made for the object, or an administrator must have marked it.
 */
import { type Service, USABLE_BY_ANNOTATION } from '../../../api/index.ts';
import type { ObjectMeta } from '../../../runtime/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { ProviderFailure } from '../provider.ts';
import type { Find } from './apply.ts';
import { isOurs, namespaceOf } from './names.ts';
import { secrets } from './resources.ts';

/** `requireUsableSecrets` rejects if the Service names a Secret that it must not use, or that does not exist. */
export async function requireUsableSecrets(request: DeploymentRequest, find: Find): Promise<void> {
  if (request.resource.kind !== 'Service') return;
  const namespace = namespaceOf(request);
  for (const { field, name } of secretsNamedIn(request.spec as Service['spec'])) {
    const found = await find(secrets, { namespace, name });
    if (found !== undefined && isUsable(found.metadata, request)) continue;
    // A missing Secret gives the same message: it could be created later, and its existence is not the user's to know.
    throw notUsable(
      `${field} names Secret ${namespace}/${name}, which is neither bound to this Service nor marked as usable by it`,
      `Select the resource in spec.dependencies, or ask an administrator to annotate the Secret with ${USABLE_BY_ANNOTATION}: ${request.resource.name}`,
    );
  }
}

/** Not permanent: it passes once the Secret is marked, without a change of the object. */
export const notUsable = (message: string, next: string): ProviderFailure =>
  new ProviderFailure({ class: 'transient', code: 'secret-not-usable', message: `${message}. ${next}` });

export function isMarkedFor({ annotations = {} }: ObjectMeta, user: string): boolean {
  const users = (annotations[USABLE_BY_ANNOTATION] ?? '').split(',').map((each) => each.trim());
  return users.includes('*') || users.includes(user);
}

function isUsable(metadata: ObjectMeta, request: DeploymentRequest): boolean {
  const { uid, name } = request.resource;
  const isBound = metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) === true;
  return isBound || isOurs(metadata, request) || isMarkedFor(metadata, name);
}

function secretsNamedIn({ env = [], loadBalancer }: Service['spec']): { field: string; name: string }[] {
  const variables = env.flatMap(({ name: variable, valueFrom }) => {
    const name = valueFrom?.secretKeyRef?.name;
    return name === undefined ? [] : [{ field: `spec.env[${variable}].valueFrom.secretKeyRef`, name }];
  });
  const certificate = loadBalancer?.tls?.secretName;
  return certificate === undefined
    ? variables
    : [...variables, { field: 'spec.loadBalancer.tls.secretName', name: certificate }];
}
