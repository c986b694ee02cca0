/**
 * The in-use gate: denies the deletion of a Broker or DeploymentTarget that others need, and lists them.
 *
 * Without its Broker, nothing that it deployed can be changed or cleaned up. The API server is queried, because a cache
 * might not have the newest objects. A deletion that shall happen anyway is confirmed by an annotation with the UID.
 */
import { broker, type DeploymentTarget, deployableKinds, deploymentTarget, GROUP } from '../../api/index.ts';
import { type Client, isNotFound, type KubernetesObject, type Resource } from '../../runtime/index.ts';
import type { Deadline } from '../review/deadline.ts';
import { type AdmissionRequest, isObject, type Json } from '../review/decode.ts';
import { type Findings, nothing } from '../review/findings.ts';
import { CONFIRM_DELETE } from './crds/gate.ts';
import type { AsyncGate } from './gate.ts';

type Reader = Pick<Client, 'list'>;

/** An object that is deployed somewhere. */
interface Deployed extends KubernetesObject {
  readonly spec?: { readonly targetRef?: { readonly name?: string } };
  readonly status?: { readonly targetRef?: { readonly broker?: string } };
}

const gate = 'in-use';
const pageSize = 500;
const mostListed = 5;

export function inUseGate(client: Reader): AsyncGate {
  return {
    name: gate,
    matches: ({ kind, operation, subResource }) =>
      operation === 'DELETE' &&
      kind.group === GROUP &&
      subResource === undefined &&
      (kind.kind === broker.kind || kind.kind === deploymentTarget.kind),
    evaluate: (request, deadline) => checkUsers(request, deadline, client),
  };
}

async function checkUsers(request: AdmissionRequest, deadline: Deadline, client: Reader): Promise<Findings> {
  const { kind, oldObject, userInfo } = request;
  const metadata: Json = isObject(oldObject?.metadata) ? oldObject.metadata : {};
  const name = request.name ?? String(metadata.name ?? '');
  const list = lister(client, deadline.signal());
  const users = await (kind.kind === broker.kind ? usersOfBroker(name, list) : usersOfTarget(name, list));
  if (users.length === 0) return nothing;
  const shown = `${users.slice(0, mostListed).join(', ')}${users.length > mostListed ? ', …' : ''}`;
  const count = `${users.length} object${users.length === 1 ? '' : 's'} (${shown})`;
  const annotations = isObject(metadata.annotations) ? metadata.annotations : {};
  if (annotations[CONFIRM_DELETE] !== undefined && annotations[CONFIRM_DELETE] === metadata.uid) {
    return { ...nothing, auditAnnotations: { 'in-use-by': count, 'in-use-confirmed-by': userInfo?.username ?? '' } };
  }
  return {
    ...nothing,
    violations: [
      {
        gate,
        code: 'StillInUse',
        field: '',
        message: `${kind.kind} ${name} is used by ${count}`,
        next: `Delete these objects or move them first. To delete it anyway, confirm it: kubectl annotate ${kind.kind.toLowerCase()} ${name} --overwrite ${CONFIRM_DELETE}=${String(metadata.uid ?? '')}`,
      },
    ],
  };
}

type List = <T extends KubernetesObject>(resource: Resource) => Promise<T[]>;

function lister(client: Reader, signal: AbortSignal): List {
  return async <T extends KubernetesObject>(resource: Resource) => {
    const all: T[] = [];
    for (let next: string | undefined; ; ) {
      const page = await client
        .list<T>(resource, { signal, limit: pageSize, ...(next === undefined ? {} : { continue: next }) })
        .catch((error: unknown) => {
          // A kind that is not installed has no objects.
          if (isNotFound(error)) return undefined;
          throw error;
        });
      if (page === undefined) return all;
      all.push(...page.items);
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
      if (next === undefined) return all;
    }
  };
}

/** Objects that are being deleted need the Broker, which cleans up, but no longer the DeploymentTarget. */
async function usersOfTarget(name: string, list: List): Promise<string[]> {
  return deployed(
    list,
    ({ metadata, spec }) => spec?.targetRef?.name === name && metadata.deletionTimestamp === undefined,
  );
}

async function usersOfBroker(name: string, list: List): Promise<string[]> {
  const targets = await list<DeploymentTarget>(deploymentTarget.resource);
  return [
    ...targets
      .filter(({ spec }) => spec.brokerRef?.name === name)
      .map(({ metadata }) => `${deploymentTarget.kind} ${metadata.name}`),
    ...(await deployed(list, ({ status }) => status?.targetRef?.broker === name)),
  ];
}

async function deployed(list: List, uses: (object: Deployed) => boolean): Promise<string[]> {
  const found = await Promise.all(
    deployableKinds.map(async ({ kind, resource }) =>
      (await list<Deployed>(resource))
        .filter(uses)
        .map(({ metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
    ),
  );
  return found.flat();
}
