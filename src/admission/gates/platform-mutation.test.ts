import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonPatchOperation } from '../../policy/index.ts';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import type { Facts } from './gate.ts';
import { mutateForPlatform } from './platform-mutation.ts';

const finalizer = 'platform.company.com/cleanup-resources';
const managedBy = '/metadata/labels/platform.company.com~1managed-by';
const team = '/metadata/labels/platform.company.com~1team';
const teamLabel = 'platform.company.com/team';
const bothLabels = { 'platform.company.com/managed-by': 'kidp', 'platform.company.com/team': 'team-backend' };
const facts: Facts = {
  chain: { end: 'team', team: 'team-backend', path: [] },
  reconcilers: ['system:serviceaccount:kidp-system:kidp'],
};
const nothingDispatched: Facts = { ...facts, dispatches: false };
const unresolved: Facts = { ...facts, chain: { end: 'missing', path: [] } };

function request(metadata: Json, before?: Json, over: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const named = { name: 'orders', namespace: 'team-backend' };
  return {
    uid: 'u',
    kind: { group: 'platform.company.com', version: 'v1', kind: 'Database' },
    object: { metadata: { ...named, ...metadata }, spec: {} },
    ...(before === undefined
      ? { operation: 'CREATE' }
      : { operation: 'UPDATE', oldObject: { metadata: { ...named, ...before }, spec: {} } }),
    ...over,
  };
}

const kind = (name: string, group = 'platform.company.com') => ({ kind: { group, version: 'v1', kind: name } });
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('what the platform writes into an object', () => {
  const untrusted: Facts = { ...facts, untrusted: true, dispatches: false };
  const managed = { 'platform.company.com/managed-by': 'kidp' };
  const rows: { reason: string; request: AdmissionRequest; facts?: Facts; patches: JsonPatchOperation[] }[] = [
    {
      reason: 'no team that was read, for an untrusted caller',
      request: request({}),
      facts: untrusted,
      patches: [{ op: 'add', path: '/metadata/labels', value: managed }],
    },
    {
      reason: 'the same answer to a claimed team, right or wrong, for an untrusted caller',
      request: request({ labels: bothLabels }),
      facts: untrusted,
      patches: [{ op: 'remove', path: team }],
    },
    {
      reason: 'the same answer to a claimed team whose owner does not exist, for an untrusted caller',
      request: request({ labels: bothLabels }),
      facts: { ...untrusted, chain: unresolved.chain },
      patches: [{ op: 'remove', path: team }],
    },
    {
      reason: 'the stored team, which the request holds, for an untrusted caller',
      request: request({ labels: managed }, { labels: { ...managed, [teamLabel]: 'stored' } }),
      facts: untrusted,
      patches: [{ op: 'add', path: team, value: 'stored' }],
    },
    {
      reason: 'labels and finalizer, where there are none',
      request: request({}),
      patches: [
        { op: 'add', path: '/metadata/labels', value: bothLabels },
        { op: 'add', path: '/metadata/finalizers', value: [finalizer] },
      ],
    },
    {
      reason: 'beside those that are there',
      request: request({ labels: { a: 'b' }, finalizers: ['x/y'] }),
      patches: [
        { op: 'add', path: managedBy, value: 'kidp' },
        { op: 'add', path: team, value: 'team-backend' },
        { op: 'add', path: '/metadata/finalizers/-', value: finalizer },
      ],
    },
    {
      reason: 'nothing, where all is there',
      request: request({ labels: bothLabels, finalizers: [finalizer] }),
      patches: [],
    },
    {
      reason: 'no team while the owner cannot be resolved',
      request: request({ labels: {} }),
      facts: unresolved,
      patches: [
        { op: 'add', path: managedBy, value: 'kidp' },
        { op: 'add', path: '/metadata/finalizers', value: [finalizer] },
      ],
    },
    {
      reason: 'no team that somebody claims while the owner cannot be resolved',
      request: request({ labels: { ...bothLabels, a: 'b' }, finalizers: [finalizer] }),
      facts: unresolved,
      patches: [{ op: 'remove', path: team }],
    },
    {
      reason: 'nor one that is claimed by a change',
      request: request(
        { labels: bothLabels, finalizers: [finalizer] },
        { labels: { ...bothLabels, [teamLabel]: 'x' } },
      ),
      facts: unresolved,
      patches: [{ op: 'remove', path: team }],
    },
    {
      reason: 'the team that was there before the owner went',
      request: request({ labels: bothLabels, finalizers: [finalizer] }, { labels: bothLabels }),
      facts: unresolved,
      patches: [],
    },
    {
      reason: 'no finalizer on what no broker brings about',
      request: request({}, undefined, kind('Application')),
      patches: [{ op: 'add', path: '/metadata/labels', value: bothLabels }],
    },
    {
      reason: 'no finalizer where nothing is dispatched: nobody would take it off',
      request: request({}),
      facts: nothingDispatched,
      patches: [{ op: 'add', path: '/metadata/labels', value: bothLabels }],
    },
    {
      reason: 'even there the finalizer that a replace has dropped: what was dispatched before may be deployed still',
      request: request({ labels: bothLabels }, { labels: bothLabels, finalizers: [finalizer] }),
      facts: nothingDispatched,
      patches: [{ op: 'add', path: '/metadata/finalizers', value: [finalizer] }],
    },
    {
      reason: 'nothing over what the user has written: that is for the labels gate to refuse',
      request: request({ labels: { ...bothLabels, 'platform.company.com/team': 'mine' }, finalizers: [finalizer] }),
      patches: [],
    },
    {
      reason: 'the team of today over the one that was stored',
      request: request(
        { labels: { ...bothLabels, 'platform.company.com/team': 'old' }, finalizers: [finalizer] },
        { labels: { ...bothLabels, 'platform.company.com/team': 'old' }, finalizers: [finalizer] },
      ),
      patches: [{ op: 'add', path: team, value: 'team-backend' }],
    },
    {
      reason: 'what a replace has dropped',
      request: request({}, { labels: bothLabels, finalizers: [finalizer] }),
      patches: [
        { op: 'add', path: '/metadata/labels', value: bothLabels },
        { op: 'add', path: '/metadata/finalizers', value: [finalizer] },
      ],
    },
    {
      reason: 'no finalizer on what is being deleted',
      request: request({ ...deleting, labels: bothLabels }, { ...deleting, labels: bothLabels }),
      patches: [],
    },
    {
      reason: 'not the finalizer that the reconciler takes away',
      request: request(
        { labels: bothLabels },
        { labels: bothLabels, finalizers: [finalizer] },
        {
          userInfo: { username: 'system:serviceaccount:kidp-system:kidp' },
        },
      ),
      patches: [],
    },
    { reason: 'nothing through a subresource', request: request({}, {}, { subResource: 'status' }), patches: [] },
    {
      reason: 'nothing into other people’s kinds',
      request: request({}, undefined, kind('Database', 'example.com')),
      patches: [],
    },
    { reason: 'nothing on deletion', request: { ...request({}), operation: 'DELETE' }, patches: [] },
    {
      reason: 'nothing into what has no metadata',
      request: { ...request({}), object: { metadata: 'x' } },
      patches: [],
    },
  ];
  it.each(rows)('$reason', ({ request, facts: known = facts, patches }) => {
    expect(mutateForPlatform(request, known)?.patches ?? []).toEqual(patches);
  });

  it('changes nothing when it is asked again about what it has changed', () => {
    const labels = fc.option(
      fc.dictionary(fc.constantFrom('a', 'platform.company.com/team', 'platform.company.com/managed-by'), fc.string()),
    );
    const finalizers = fc.option(fc.array(fc.constantFrom('x/y', finalizer), { maxLength: 3 }));
    const metadata = fc.record({ labels, finalizers });
    fc.assert(
      fc.property(
        metadata,
        fc.option(metadata),
        fc.constantFrom(facts, unresolved, nothingDispatched),
        (after, before, known) => {
          const asked = request(after, before ?? undefined);
          const once = mutateForPlatform(asked, known)?.object ?? asked.object;
          expect(mutateForPlatform({ ...asked, ...(once && { object: once }) }, known)).toBeUndefined();
        },
      ),
    );
  });
});
