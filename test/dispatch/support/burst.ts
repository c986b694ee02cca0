/** Many at once. The numbers are in `npm run bench -- dispatch`; here all of them have to come to where they should be. */
import { expect, test } from 'vitest';
import type { Deployable } from '../../../src/reconcile/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { isReady, ledgerFaults, namespace, Objects, resourceOf, type Stage } from './stage.ts';

const count = 100;
/** A loaded machine takes many times as long as a quiet one; to read all of them is work too. */
const inTime = { within: 180_000, every: 1_000 };

export function burstTests(running: () => Stage): void {
  test(`${count} objects at once are all ready, each deployed once; deleted at once, all are gone`, async () => {
    const stage = running();
    const { client, cluster } = stage;
    const objects = new Objects(stage);
    const names = Array.from({ length: count }, (_, index) => `many-${index}`);
    const labels = { burst: 'yes' };
    const list = async () =>
      (await client.list<Deployable>(resourceOf('Secret'), { namespace, labelSelector: 'burst=yes' })).items;
    await Promise.all(names.map((name) => objects.create('Secret', name, {}, labels)));
    const all = await eventually(async () => {
      const items = await list();
      const waiting = items.filter((item) => !isReady(item));
      if (waiting.length === 0) return items;
      throw new Error(`${waiting.length} are not ready, such as ${JSON.stringify(waiting[0]?.status)}`);
    }, inTime);
    expect(all).toHaveLength(count);
    const uids = new Set(all.map(({ metadata }) => metadata.uid));
    const records = cluster.records().filter(({ uid }) => uids.has(uid));
    expect(records.map(({ ledger }) => ledger.length)).toEqual(names.map(() => 1));
    await Promise.all(names.map((name) => objects.remove('Secret', name)));
    await eventually(async () => (await list()).length === 0, inTime);
    expect(ledgerFaults(cluster)).toEqual([]);
  });
}
