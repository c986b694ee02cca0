/** Tests the judge of chaos runs with evidence of every violation: a judge that never finds one proves nothing. */
import { describe, expect, test } from 'vitest';
import type { DeploymentRecord } from '../../src/broker/index.ts';
import type { Deployable } from '../../src/reconcile/index.ts';
import { type Evidence, judge } from './support/invariants.ts';
import type { Departure } from './support/witness.ts';
import type { Expected } from './support/workload.ts';

const uid = '11111111-2222-3333-4444-555555555555';
const id = (generation: number, attempt = 1) => `${uid}/${generation}/${attempt}`;
const spec = { keys: [{ name: 'a', generate: { length: 16 } }] };
const present: Expected = { kind: 'Secret', name: 's', uid, spec, deleted: false };
const deleted: Expected = { ...present, deleted: true };
const stored = (status: object = {}, metadata: object = {}): Deployable => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Secret',
  metadata: { name: 's', uid, generation: 2, ...metadata },
  spec: { ...spec, type: 'Opaque' },
  status: {
    phase: 'ready',
    deploymentId: id(2),
    deployedGeneration: 2,
    conditions: [{ type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '' }],
    ...status,
  } as NonNullable<Deployable['status']>,
});
type Claim = readonly [id: string, action: 'Deploy' | 'Delete'];
const record = (ledger: readonly Claim[], more: object = {}): DeploymentRecord => {
  const [deploymentId, action] = ledger.at(-1) ?? [id(1), 'Deploy'];
  return {
    uid,
    deploymentId,
    state: action === 'Delete' ? 'deleted' : 'done',
    request: { action, spec: action === 'Delete' ? undefined : spec },
    ledger: ledger.map(([each, what]) => ({ deploymentId: each, action: what, at: '', instance: '' })),
    changedAt: '2026-01-01T00:00:00.000Z',
    ...more,
  } as unknown as DeploymentRecord;
};
const thing = { uid, name: 'Secret s', shape: { keys: ['a'] } };
const departure: Departure = {
  uid,
  subject: 'Secret s',
  revision: 9,
  at: Date.parse('2026-01-01T00:00:00.000Z'),
  deploymentId: id(3),
  left: [],
  recordState: 'deleted',
};
const deploys = [
  [id(1), 'Deploy'],
  [id(2), 'Deploy'],
] as const;
const deletes = [...deploys, [id(3), 'Delete']] as const;

const nothing: Evidence = {
  expected: [],
  stored: [],
  records: [],
  things: [],
  connections: new Map(),
  intents: new Map(),
  executions: new Map(),
  departures: [],
};
const converged: Evidence = {
  ...nothing,
  expected: [present],
  stored: [stored()],
  records: [record(deploys.slice(0, 1)), record(deploys)],
  things: [thing],
  connections: new Map([[uid, ['a']]]),
  intents: new Map([[uid, [id(1), id(2)]]]),
  executions: new Map([[uid, [id(1), id(2)]]]),
};
const gone: Evidence = {
  ...nothing,
  expected: [deleted],
  records: [record(deploys), record(deletes)],
  departures: [departure],
};

describe('valid evidence', () => {
  test.each([
    { reason: 'nothing at all', evidence: nothing },
    { reason: 'an object that is ready at its last generation', evidence: converged },
    { reason: 'an object that was deleted after its deployment', evidence: gone },
    {
      reason: 'a deleted object whose broker keeps its records in Kafka, and was queried once more afterwards',
      evidence: {
        ...gone,
        records: [record(deletes), record(deletes, { changedAt: '2026-01-01T00:00:05.000Z' })],
        departures: [{ ...departure, recordState: undefined }],
      },
    },
    { reason: 'an object that was deleted before it was dispatched', evidence: { ...nothing, expected: [deleted] } },
    {
      reason: 'the same claim in record after record, and the oldest dropped',
      evidence: { ...converged, records: [record(deploys), record(deploys), record(deploys.slice(1))] },
    },
  ])('$reason', ({ evidence }) => {
    expect(judge(evidence)).toEqual([]);
  });
});

describe('violations', () => {
  test.each([
    {
      rule: 'lost',
      reason: 'an object that no user deleted does not exist',
      evidence: { ...converged, stored: [], things: [] },
    },
    {
      rule: 'lost',
      reason: 'an object that no user deleted was removed',
      evidence: { ...converged, departures: [departure] },
    },
    { rule: 'unasked', reason: 'an object that no user created', evidence: { ...converged, expected: [] } },
    {
      rule: 'unfinished',
      reason: 'an older generation is ready',
      evidence: { ...converged, stored: [stored({ deployedGeneration: 1 })] },
    },
    {
      rule: 'unfinished',
      reason: 'a message is still to be sent',
      evidence: { ...converged, stored: [stored({ outbox: [{ id: 'a' }] })] },
    },
    {
      rule: 'unfinished',
      reason: 'the spec is not the one that was acknowledged last',
      evidence: { ...converged, expected: [{ ...present, spec: { keys: [] } }] },
    },
    {
      rule: 'unfinished',
      reason: 'the broker has an older deployment',
      evidence: { ...converged, records: [record(deploys.slice(0, 1))] },
    },
    { rule: 'unfinished', reason: 'the broker has no record of it', evidence: { ...converged, records: [] } },
    { rule: 'unfinished', reason: 'there is nothing in the target', evidence: { ...converged, things: [] } },
    {
      rule: 'unfinished',
      reason: 'the target has the deployment of another spec',
      evidence: { ...converged, things: [{ ...thing, shape: { keys: ['b'] } }] },
    },
    {
      rule: 'unfinished',
      reason: 'there is no connection Secret',
      evidence: { ...converged, connections: new Map() },
    },
    {
      rule: 'unfinished',
      reason: 'the connection Secret is stale',
      evidence: { ...converged, connections: new Map([[uid, ['before']]]) },
    },
    {
      rule: 'unfinished',
      reason: 'a finalizer is left',
      evidence: { ...converged, expected: [deleted], records: [record(deletes)], stored: [stored()] },
    },
    {
      rule: 'twice',
      reason: 'a deployment was claimed twice',
      evidence: {
        ...converged,
        records: [record(deploys), record([...deploys, [id(1), 'Deploy'], [id(2), 'Deploy']])],
      },
    },
    {
      rule: 'order',
      reason: 'an older deployment was claimed after a newer one',
      evidence: {
        ...converged,
        records: [
          record([[id(3), 'Deploy']]),
          record([
            [id(3), 'Deploy'],
            [id(2), 'Deploy'],
          ]),
        ],
      },
    },
    {
      rule: 'order',
      reason: 'the target was written for an older deployment after a newer one',
      evidence: { ...converged, executions: new Map([[uid, [id(2), id(1)]]]) },
    },
    {
      rule: 'order',
      reason: 'a status returned to an older deployment',
      evidence: { ...converged, intents: new Map([[uid, [id(1, 2), id(1, 1)]]]) },
    },
    {
      rule: 'early',
      reason: 'an object was removed before its deployment',
      evidence: { ...gone, departures: [{ ...departure, left: ['secrets/s'] }] },
    },
    {
      rule: 'early',
      reason: 'an object was removed before its broker confirmed the deletion',
      evidence: { ...gone, departures: [{ ...departure, recordState: 'claimed' as const }] },
    },
    {
      rule: 'early',
      reason: 'an object was removed before its broker recorded the deletion in Kafka',
      evidence: {
        ...gone,
        records: [record(deploys), record(deletes, { changedAt: '2026-01-01T00:00:00.001Z' })],
        departures: [{ ...departure, recordState: undefined }],
      },
    },
    {
      rule: 'early',
      reason: 'an object was removed without a delete request to its broker',
      evidence: { ...gone, records: [record(deploys)] },
    },
    { rule: 'orphan', reason: 'a deployment without an object', evidence: { ...gone, things: [thing] } },
    {
      rule: 'orphan',
      reason: 'a deployment without a known owner',
      evidence: { ...converged, things: [thing, { ...thing, uid: undefined }] },
    },
  ])('$rule: $reason', ({ rule, evidence }) => {
    expect(judge(evidence).map((each) => each.rule)).toContain(rule);
  });
});
