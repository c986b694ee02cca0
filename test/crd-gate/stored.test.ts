/** Many stored objects, and too little time for them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { readMetrics } from '../support/metrics.ts';
import {
  change,
  define,
  type GatePlane,
  objectOf,
  patient,
  refusalOf,
  resourceOf,
  size,
  startGatePlane,
  widgets,
} from './support/platform.ts';

const small = 2_000;
/** More of them than a page may hold, after all those of which a page holds hundreds. */
const large = 8;
const objects = small + large;
const before = widgets('many', size({}));
/** Nobody can say of this rule alone whether it breaks something. */
const risky = widgets('many', {
  ...size({}),
  'x-kubernetes-validations': [{ rule: "!has(self.colour) || self.colour.lowerAscii().split('-').size() < 5" }],
});
const narrower = widgets('many', size({ maximum: small - 4 }));

let plane: GatePlane;
beforeAll(async () => {
  plane = await startGatePlane();
  await plane.gate();
  await define(plane.client, before);
  for (const namespace of ['shop', 'bank'])
    await plane.client.create(
      { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    );
  let next = 0;
  const create = async () => {
    for (let index = next++; index < small; index = next++) {
      const namespace = index % 2 === 0 ? 'shop' : 'bank';
      const name = `object-${String(index).padStart(5, '0')}`;
      await plane.client.create(resourceOf(before), objectOf(before, name, { size: index }, namespace));
    }
  };
  await Promise.all(Array.from({ length: 16 }, create));
  const colour = 'x'.repeat(1_300_000);
  for (let index = 0; index < large; index++)
    await plane.client.create(resourceOf(before), objectOf(before, `the-large-${index}`, { colour }, 'shop'));
});
afterAll(() => plane?.stop());

describe(`${objects} stored objects`, () => {
  test('are all looked at, in all namespaces', async () => {
    const said = await refusalOf(() => change(plane.client, narrower, { dryRun: true }));
    expect(said).toContain(`3 of ${objects} stored objects would break, first: bank/object-01997: .spec.size: 1997`);
  });

  test('of which none breaks do not stand in the way of a risky change', async () => {
    const { code, stderr } = await plane.kubectl(
      ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-'],
      risky,
    );
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain(`none of ${objects} stored objects would break`);
  });

  test('are counted when the definition is to be deleted', async () => {
    const { stderr } = await plane.kubectl(['delete', 'crd', before.metadata.name]);
    expect(stderr).toContain(`${objects} objects exist, first: bank/object-00001`);
  });
});

describe('time that is up before all are read', () => {
  /** The second page never comes. */
  const slow = (client: Client): Client => ({
    ...client,
    request: (asked) => {
      if (asked.query?.continue === undefined) return client.request(asked);
      return new Promise((_resolve, reject) => {
        asked.signal?.addEventListener('abort', () => reject(asked.signal?.reason), { once: true });
      });
    },
  });

  const far = `only 10 of about ${objects} stored objects were checked: the time limit was reached`;
  // Starting the gate has started a thread, so that this is time for the comparison alone.
  const deadlineMilliseconds = 10_000;

  test('denies a breaking change and a risky one, and says how far it got', async () => {
    await plane.gate({ deadlineMilliseconds }, slow(plane.client));
    const tried = (definition: typeof before) => refusalOf(() => change(plane.client, definition, { dryRun: true }));
    expect(await tried(narrower)).toContain(`1 breaking change; ${far}`);
    expect(await tried(risky)).toContain(`the change is risky, and its effect on stored objects is unknown: ${far}`);
  });

  test('lets a risky change in with a warning, if so configured', async () => {
    await plane.gate({ deadlineMilliseconds, whenIncomplete: 'warn' }, slow(plane.client));
    const { code, stderr } = await plane.kubectl(
      ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-'],
      risky,
    );
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(far) });
  });

  test('of which not even the comparison is done denies too', async () => {
    await plane.gate({ deadlineMilliseconds: 1 });
    const said = await refusalOf(() => change(plane.client, narrower, { dryRun: true }));
    expect(said).toMatch(/could not be compared: the comparison timed out after 0\.001 s|the time limit was reached/);
  });
});

test('what was judged is in the metrics', async () => {
  const admission = await plane.gate();
  await refusalOf(() => change(plane.client, narrower, { dryRun: true }));
  await eventually(async () => {
    const text = await readMetrics(admission.url, plane.client);
    expect(text).toMatch(/kidp_crd_verdicts_total\{operation="UPDATE",verdict="breaking",result="denied"\} 1/);
    expect(text).toMatch(new RegExp(`kidp_crd_stored_objects_total\\{result="checked"\\} ${objects}`));
    expect(text).toMatch(/kidp_crd_stored_objects_total\{result="broken"\} 3/);
    expect(text).toMatch(/kidp_crd_review_duration_seconds_count\{operation="UPDATE"\} 1/);
  }, patient);
});
