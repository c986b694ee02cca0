/** What follows definitions and Approvals, on a real API server, with all of kidp in it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Approval,
  approval,
  type CrdRevision,
  crdRevision,
  REVISION_LABEL,
  unpackRevision,
} from '../../src/api/index.ts';
import type { UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { definitions } from '../admission/support/platform.ts';
import { type PolicyPlane, startPolicyPlane } from '../live-policies/support/platform.ts';
import { change, define, digestIn, patient, refusalOf, size, widgets } from './support/platform.ts';

let plane: PolicyPlane;
let kidp: Awaited<ReturnType<PolicyPlane['start']>>;
beforeAll(async () => {
  plane = await startPolicyPlane();
  kidp = await plane.start({ ...plane.webhook, revisions: { kept: 3 } });
});
afterAll(() => plane?.stop());

async function revisionsOf(plural: string): Promise<CrdRevision[]> {
  const labelSelector = `${REVISION_LABEL}=${plural}.gate.example.com`;
  const { items } = await plane.client.list<CrdRevision>(crdRevision.resource, { labelSelector });
  return items.sort((one, other) => one.spec.sequence - other.spec.sequence);
}

const sequencesOf = async (plural: string) => (await revisionsOf(plural)).map(({ spec }) => spec.sequence);

const untilSequences = (plural: string, wanted: readonly number[]) =>
  eventually(async () => {
    const found = await sequencesOf(plural);
    if (found.join() !== wanted.join())
      throw new Error(`${plural} has the revisions ${found.join()}, not ${wanted.join()}`);
    return true;
  }, patient);

/** The maximum that a revision says. */
const maximumIn = (revision: CrdRevision | undefined): unknown => {
  if (revision === undefined) return undefined;
  const text = JSON.stringify(unpackRevision(revision).spec);
  return Number(/"maximum":(\d+)/.exec(text)?.[1]);
};

test('an Approval is used up by its change, and does not admit it again after the definition was changed back', async () => {
  const [wide, narrow] = [widgets('once', size({})), widgets('once', size({ maximum: 10 }))];
  const { metadata } = await define(plane.client, wide);
  await untilSequences('once', [1]);
  const digest = digestIn(await refusalOf(() => change(plane.client, narrow)));
  const subject = { kind: 'CustomResourceDefinition', name: metadata.name, uid: metadata.uid ?? '', digest };
  const grace = plane.client.impersonate({ user: 'grace', groups: ['system:masters'] });
  const approve = async (name: string) => {
    const object = { apiVersion: 'platform.company.com/v1', kind: 'Approval', metadata: { name }, spec: { subject } };
    await plane.client.create(approval.resource, object as Approval);
    const body = { spec: { decisions: [{ decision: 'Approve', by: 'grace', at: '2026-01-01T00:00:00Z' }] } };
    await grace.patch(approval.resource, { name }, { type: 'merge', body });
  };
  await approve('once');
  expect(await refusalOf(() => change(plane.client, narrow))).toBe('');
  await untilSequences('once', [1, 2]);
  await change(plane.client, wide);
  await untilSequences('once', [1, 2, 3]);
  const again = await refusalOf(() => change(plane.client, narrow));
  expect(again).toContain('Approval once was used: the change was made at ');
  // The second Approval must be younger than the change, by the seconds of the API server.
  await eventually(async () => {
    const probe = await grace.create(
      approval.resource,
      {
        apiVersion: 'platform.company.com/v1',
        kind: 'Approval',
        metadata: { name: 'clock' },
        spec: { subject },
      } as Approval,
      { dryRun: true },
    );
    expect((probe.metadata.creationTimestamp ?? '') > (/at ([-0-9:TZ]+)/.exec(again)?.[1] ?? '')).toBe(true);
  }, patient);
  await approve('once-more');
  expect(await refusalOf(() => change(plane.client, narrow))).toBe('');
});

describe('every version of a definition', () => {
  test('is kept as it was stored, what was there before kidp came too', async () => {
    const labelSelector = `${REVISION_LABEL}=databases.platform.company.com`;
    const items = await eventually(async () => {
      const found = await plane.client.list<CrdRevision>(crdRevision.resource, { labelSelector });
      return found.items.length > 0 && found.items;
    }, patient);
    const stored = await plane.client.get(definitions, { name: 'databases.platform.company.com' });
    expect(items).toHaveLength(1);
    expect(items.map(unpackRevision)[0]).toMatchObject({ metadata: { uid: stored.metadata.uid }, spec: stored.spec });
  });

  test('also of those that follow each other at once, and only the newest stay', async () => {
    await define(plane.client, widgets('kept', size({ maximum: 1 })));
    for (const maximum of [2, 3, 4, 5]) await change(plane.client, widgets('kept', size({ maximum })));
    await untilSequences('kept', [3, 4, 5]);
    const revisions = await revisionsOf('kept');
    expect(revisions.map(maximumIn)).toEqual([3, 4, 5]);
    expect(revisions.map(({ spec }) => spec.crd.generation)).toEqual([3, 4, 5]);
    expect(new Set(revisions.map(({ spec }) => spec.digest)).size).toBe(3);
  });

  test('and nothing is kept of labels, status, or an apply that changes nothing', async () => {
    const definition = widgets('same', size({ maximum: 1 }));
    await define(plane.client, definition);
    await untilSequences('same', [1]);
    await change(plane.client, definition);
    await plane.client.patch(
      definitions,
      { name: definition.metadata.name },
      { type: 'merge', body: { metadata: { labels: { mine: 'yes' } } } },
    );
    // Whatever follows is kept after it.
    await change(plane.client, widgets('same', size({ maximum: 2 })));
    await untilSequences('same', [1, 2]);
  });

  test('a CRDRevision cannot be changed after creation', async () => {
    const [one] = await revisionsOf('same');
    const said = await refusalOf(() =>
      plane.client.patch(
        crdRevision.resource,
        { name: one?.metadata.name ?? '' },
        { type: 'merge', body: { spec: { sequence: 9 } } },
      ),
    );
    expect(said).toContain('a CRDRevision cannot be changed after creation');
  });
});

describe('a definition that is deleted', () => {
  const narrower = widgets('again', size({ maximum: 2 }));

  test('leaves its revisions behind, which say since when', async () => {
    await define(plane.client, widgets('again', size({ maximum: 5 })));
    await untilSequences('again', [1]);
    await plane.client.delete(definitions, { name: 'again.gate.example.com' });
    await eventually(async () => (await revisionsOf('again')).at(-1)?.status?.removedAt !== undefined, patient);
  });

  test('and re-created is compared with its last revision: manifests might no longer apply', async () => {
    const { code, stderr } = await plane.kubectl(['create', '-f', '-'], { input: narrower });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain('an earlier definition of this name (revision 1) was deleted');
    expect(stderr).toContain('.spec.size');
    await untilSequences('again', [1, 2]);
    const [first, second] = await revisionsOf('again');
    expect(first?.spec.crd.uid).not.toBe(second?.spec.crd.uid);
  });

  test('for good is forgotten once its time is over', async () => {
    await kidp.stop();
    await plane.client.delete(definitions, { name: 'again.gate.example.com' });
    kidp = await plane.start({ ...plane.webhook, revisions: { kept: 3, afterRemovalMilliseconds: 1 } });
    await untilSequences('again', []);
    expect(await sequencesOf('kept')).toEqual([3, 4, 5]);
  });
});

test('the status of an Approval says what its decisions come to', async () => {
  const name = 'looked-at';
  const subject = {
    kind: 'CustomResourceDefinition',
    name: 'x.example.com',
    uid: 'u',
    digest: `sha256:${'2'.repeat(64)}`,
  };
  const metadata = { name };
  const object = { apiVersion: 'platform.company.com/v1', kind: 'Approval', metadata, spec: { subject } };
  await plane.client.create(approval.resource, object as UnknownObject);
  const outcome = async () => (await plane.client.get<Approval>(approval.resource, { name })).status?.outcome;
  await eventually(async () => (await outcome()) === 'Pending', patient);
  const admin = plane.client.impersonate({ user: 'grace', groups: ['system:masters'] });
  const value = { decision: 'Approve', reason: 'Fine.' };
  await admin.patch(
    approval.resource,
    { name },
    { type: 'json', body: [{ op: 'add', path: '/spec/decisions/-', value }] },
  );
  await eventually(async () => (await outcome()) === 'Approved', patient);
  const { stdout } = await plane.kubectl(['get', 'approvals', name]);
  expect(stdout).toMatch(/looked-at +CustomResourceDefinition +x\.example\.com +Approved +\S+ +grace/);
});
