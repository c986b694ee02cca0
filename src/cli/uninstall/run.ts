/**
 * `kidp uninstall`: an installation in, a stopped one out, with no finalizer of kidp left.
 *
 * Nobody but kidp removes its finalizers, and while its webhook configurations are there and no replica answers, every write to platform
 * kinds is denied. So both go before the installation does, and the replicas, which would restore them, first.
 *
 * Exit codes: 0 kidp can be removed; 1 objects are left; 2 bad input.
 */
import { configurationName, phases } from '../../admission/index.ts';
import { application, cluster, deployableKinds, GROUP, type Kind, operatorDeployment, team } from '../../api/index.ts';
import {
  ApiError,
  type Client,
  eachObject,
  isConflict,
  isNotFound,
  keyOf,
  type Resource,
  systemClock,
  type UnknownObject,
} from '../../runtime/index.ts';
import { plainLine, sleep } from '../../runtime/internal.ts';
import { withManagement } from '../common/management.ts';
import type { WhereFlags } from '../common/management-flags.ts';
import type { Streams } from '../common/streams.ts';

export interface UninstallOptions extends WhereFlags {
  readonly finalizers?: 'release' | 'delete';
  readonly namespace: string;
  readonly timeout: number;
}

/** The kinds whose objects get finalizers. The hook of the chart may list them, and no others. */
export const finalizedKinds: readonly Kind[] = [...deployableKinds, application, team, operatorDeployment, cluster];

const apps = { group: 'apps', version: 'v1', namespaced: true };
const deployments: Resource = { ...apps, plural: 'deployments', kind: 'Deployment' };
const pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
const deploymentName = 'kidp';
const podLabels = 'app.kubernetes.io/name=kidp';

const pollMilliseconds = 1_000;
const mostListed = 100;
const mostTries = 5;

interface Held {
  readonly resource: Resource;
  readonly object: UnknownObject & { status?: { deploymentId?: string; targetRef?: { broker?: string } } };
}

export function uninstall(options: UninstallOptions, streams: Streams): Promise<number> {
  return withManagement(options, (client) => run(client, options, streams));
}

async function run(client: Client, options: UninstallOptions, { out, err }: Streams): Promise<number> {
  const { finalizers, namespace, timeout } = options;
  const deadline = systemClock.monotonic() + timeout * 1000;
  let held: readonly Held[] = await heldObjects(client);
  if (held.length > 0 && finalizers === undefined) {
    err.write(
      `kidp: ${counted(held)} of kidp, and nobody would remove ${held.length === 1 ? 'it' : 'them'}:\n${listed(held)}Delete ${held.length === 1 ? 'it' : 'them'} and try again. Or set uninstall.finalizers of the chart with "helm upgrade --reuse-values" (--finalizers of this command): "delete" deletes these objects and what brokers deployed for them, "release" removes the finalizers and leaves what brokers deployed.\n`,
    );
    return 1;
  }
  if (finalizers === 'delete') {
    const refused = await deleteAll(client, held);
    for (const line of refused) err.write(`kidp: ${line}\n`);
    if (refused.length > 0) return 1;
    held = await untilDeleted(client, held, deadline);
    if (held.length > 0) {
      err.write(
        `kidp: ${counted(held)} of kidp still, after ${timeout} s:\n${listed(held)}Their status says what they wait for. Check that kidp and its brokers run and try again, or use "release".\n`,
      );
      return 1;
    }
  }
  const left = await stopReplicas(client, namespace, deadline);
  if (left > 0) {
    err.write(
      `kidp: ${left} ${left === 1 ? 'replica' : 'replicas'} in namespace ${namespace} still running after ${timeout} s: look at the Pods with the label ${podLabels}, then try again.\n`,
    );
    return 1;
  }
  await removeWebhooks(client);
  if (finalizers === 'release') {
    // Read again: the last replica may have added finalizers.
    const released = await heldObjects(client);
    for (const each of released) await release(client, each);
    const deployed = released.filter(({ object }) => object.status?.deploymentId !== undefined);
    if (deployed.length > 0) {
      out.write(`Left in place, remove it yourself if it is not needed:\n${deployed.map(backend).join('')}`);
    }
    out.write(`finalizers removed from ${released.length} ${released.length === 1 ? 'object' : 'objects'}\n`);
  }
  out.write('kidp is stopped and its webhook configurations are deleted; CRDs and objects stay\n');
  return 0;
}

const isOurs = (finalizer: string): boolean => finalizer.startsWith(`${GROUP}/`);

/** A kind whose CRD is not installed has no objects. */
async function heldObjects(client: Client): Promise<Held[]> {
  const held: Held[] = [];
  for (const { resource } of finalizedKinds) {
    const add = (object: UnknownObject) => {
      if (object.metadata.finalizers?.some(isOurs)) held.push({ resource, object });
    };
    await eachObject(client, resource, {}, add).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
  return held;
}

/** Returns what was refused. An object that is gone already is deleted. */
async function deleteAll(client: Client, held: readonly Held[]): Promise<string[]> {
  const refused: string[] = [];
  for (const { resource, object } of held) {
    if (object.metadata.deletionTimestamp !== undefined) continue;
    try {
      await client.delete(resource, keyOf(object));
    } catch (error) {
      if (isNotFound(error)) continue;
      if (!(error instanceof ApiError)) throw error;
      refused.push(`deleting ${described({ resource, object })} was denied: ${plainLine(error.message)}`);
    }
  }
  return refused;
}

/** Returns the objects that are still there at the deadline. Others, which were created meanwhile, are waited for too. */
async function untilDeleted(client: Client, before: readonly Held[], deadline: number): Promise<readonly Held[]> {
  let held = before;
  while (held.length > 0) {
    held = await heldObjects(client);
    if (held.length === 0 || systemClock.monotonic() > deadline) break;
    await sleep(systemClock, pollMilliseconds);
  }
  return held;
}

/** Returns how many replicas still run at the deadline. */
async function stopReplicas(client: Client, namespace: string, deadline: number): Promise<number> {
  const body = { spec: { replicas: 0 } };
  await client
    .patch(deployments, { namespace, name: deploymentName }, { type: 'merge', body }, { subresource: 'scale' })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  for (;;) {
    const { items } = await client.list(pods, { namespace, labelSelector: podLabels });
    if (items.length === 0 || systemClock.monotonic() > deadline) return items.length;
    await sleep(systemClock, pollMilliseconds);
  }
}

async function removeWebhooks(client: Client): Promise<void> {
  for (const { resource } of phases) {
    await client.delete(resource, { name: configurationName }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
}

/** Finalizers of others stay. Brokers and users may write at the same time. */
async function release(client: Client, { resource, object }: Held): Promise<void> {
  const key = keyOf(object);
  for (let tries = 1; ; tries += 1) {
    try {
      const { metadata } = await client.get(resource, key);
      const others = (metadata.finalizers ?? []).filter((each) => !isOurs(each));
      const body = { metadata: { finalizers: others, resourceVersion: metadata.resourceVersion } };
      await client.patch(resource, key, { type: 'merge', body });
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || tries === mostTries) throw error;
    }
  }
}

const described = ({ resource, object: { metadata } }: Held): string =>
  `${resource.kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;

const backend = (held: Held): string => {
  const { deploymentId, targetRef } = held.object.status ?? {};
  return `  ${described(held)}: deployment ${plainLine(deploymentId ?? '')} of Broker ${plainLine(targetRef?.broker ?? 'unknown')}\n`;
};

const counted = (held: readonly Held[]): string =>
  held.length === 1 ? '1 object has a finalizer' : `${held.length} objects have finalizers`;

function listed(held: readonly Held[]): string {
  const lines = held.slice(0, mostListed).map((each) => `  ${described(each)}\n`);
  return lines.join('') + (held.length > mostListed ? `  … and ${held.length - mostListed} more\n` : '');
}
