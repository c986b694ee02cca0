/** From the first apply to the last finalizer, for every deployable kind, whichever way messages go. */
import { describe, expect, test } from 'vitest';
import { CLEANUP_FINALIZER } from '../../../src/api/index.ts';
import type { ChannelName } from '../../../src/broker/index.ts';
import type { UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import {
  allKinds,
  conditionOf,
  coreSecrets,
  deployments,
  type Line,
  ledgerFaults,
  ledgerOf,
  namespace,
  Objects,
  patient,
  type Stage,
  specs,
  statefulSets,
} from './stage.ts';

const uidLabel = 'broker.platform.company.com/resource-uid';

export function lifecycleTests(running: () => Stage, channel: ChannelName): void {
  describe(`by ${channel}`, () => {
    test.concurrent.each(allKinds)('%s: created, deployed, changed, deleted', (kind) => live(running(), kind, channel));

    test('no deployment was carried out twice, or after a newer one', () => {
      const { cluster, topics } = running();
      expect(ledgerFaults(cluster, topics)).toEqual([]);
    });
  });
}

/** One object through its whole life. */
export async function live(stage: Stage, kind: string, channel: ChannelName, name = `life-${kind.toLowerCase()}`) {
  const objects = new Objects(stage);
  const broker = kind === 'Topic' ? stage.topics : stage.cluster;
  await objects.create(kind, name);
  const ready = await objects.ready(kind, name);
  const { uid = '' } = ready.metadata;
  expect(ready.metadata.finalizers).toContain(CLEANUP_FINALIZER);
  expect(ready.status).toMatchObject({
    deploymentId: `${uid}/1/1`,
    attempt: 1,
    requested: 'Deploy',
    targetRef: { name: broker.target, broker: broker.name },
    owner: { kind: 'Team', name: 'backend' },
    dispatchedGeneration: 1,
    observedGeneration: 1,
    outbox: [],
  });
  expect(conditionOf(ready, 'Ready')).toMatchObject({ status: 'True', reason: 'ResourceReady' });
  for (const type of ['Admitted', 'OwnerResolved', 'TargetResolved', 'Deployed', 'StatusReported']) {
    expect(conditionOf(ready, type), type).toMatchObject({ status: 'True' });
  }
  await eventually(async () => (await objects.events(name)).some(({ reason }) => reason === 'ResourceReady'), patient);
  const secret = ready.status?.connectionSecret;
  const values = secret === undefined ? {} : await objects.secret(secret.name);
  expect(Object.keys(values ?? {})).toEqual(expect.arrayContaining([...(keys[kind] ?? [])]));
  // That of a Secret is what its broker made; all others go with the object, which is left to Kubernetes.
  if (secret !== undefined && kind !== 'Secret') {
    const { metadata } = await stage.client.get(coreSecrets, { namespace, name: secret.name });
    expect(metadata.ownerReferences).toMatchObject([{ kind, name, uid, controller: true }]);
  }
  await eventually(() => expectTrace(stage.lines, `${uid}/1/1`, broker.name, channel), patient);
  expect(await madeFor(stage, uid)).toBe(kind !== 'Topic');

  await objects.change(kind, name, specs[kind]?.change ?? {});
  const changed = await objects.ready(kind, name);
  expect(changed.status).toMatchObject({ deploymentId: `${uid}/2/1`, dispatchedGeneration: 2 });

  await objects.remove(kind, name);
  await objects.gone(kind, name);
  expect(ledgerOf(broker, uid).map(({ deploymentId, action }) => [deploymentId, action])).toEqual([
    [`${uid}/1/1`, 'Deploy'],
    [`${uid}/2/1`, 'Deploy'],
    [`${uid}/3/1`, 'Delete'],
  ]);
  expect(await madeFor(stage, uid)).toBe(false);
}

/** What whoever uses it has to know of each kind. */
const keys: Readonly<Record<string, readonly string[]>> = {
  Database: ['host', 'port', 'username', 'password', 'uri'],
  Cache: ['host', 'port', 'password'],
  Topic: ['topic', 'bootstrap-servers'],
  Secret: ['token'],
};

/** Whether there is anything in the cluster that was made for it. */
async function madeFor({ client }: Stage, uid: string): Promise<boolean> {
  const found = await Promise.all(
    [deployments, statefulSets, coreSecrets].map((resource) =>
      client.list<UnknownObject>(resource, { namespace, labelSelector: `${uidLabel}=${uid}` }),
    ),
  );
  return found.some(({ items }) => items.length > 0);
}

/** From the dispatch to the report and back, every line of every log has the same trace and correlation. */
function expectTrace(lines: readonly Line[], correlationId: string, broker: string, channel: ChannelName): void {
  const find = (who: string, message: string, more: object = {}) => {
    const line = lines.find((each) =>
      Object.entries({ who, message, correlationId, ...more }).every(([field, value]) => each[field] === value),
    );
    if (line === undefined) throw new Error(`${who} has not logged "${message}" of ${correlationId}`);
    return line;
  };
  const path = [
    find('platform', 'message acknowledged', { action: 'Deploy', channel }),
    find(broker, 'request received', { outcome: 'accepted', channel }),
    find(broker, 'report acknowledged', { phase: 'ready', channel }),
    find('platform', 'broker report', { phase: 'ready', result: 'applied', after: 'ready', channel }),
  ];
  const traces = path.map(({ traceparent }) => String(traceparent).split('-')[1]);
  expect(new Set(traces).size, JSON.stringify(path)).toBe(1);
  expect(path[3]).toMatchObject({ audit: true, broker });
}
