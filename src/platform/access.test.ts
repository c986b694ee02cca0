import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Client } from '../runtime/index.ts';
import type { Right } from '../runtime/internal.ts';
import { demandAccess, described, dispatchRights, rights, rolloutRights } from './access.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const folder = join(import.meta.dirname, '..', '..', 'manifests', 'install');
const roles = ['roles.yaml', 'role-platform.yaml', 'role-rollouts.yaml']
  .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
  .map((document) => document.toJS() as { kind: string; rules?: Rule[] })
  .filter(({ rules }) => rules !== undefined);

test('manifests/install grants every permission that a replica needs', () => {
  const all = [...rights('kidp-system'), ...dispatchRights('kidp-system'), ...rolloutRights('kidp-system')];
  expect(all.filter((right) => !isGiven(right))).toEqual([]);
});

function isGiven({ verb, group, resource, subresource, name, namespace }: Right): boolean {
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  return roles
    .filter(({ kind }) => kind === (namespace === undefined ? 'ClusterRole' : 'Role'))
    .flatMap(({ rules = [] }) => rules)
    .some(
      ({ apiGroups, resources, resourceNames, verbs }) =>
        apiGroups.includes(group) &&
        resources.includes(full) &&
        verbs.includes(verb) &&
        (resourceNames === undefined || (name !== undefined && resourceNames.includes(name))),
    );
}

test('missing permissions are grouped by resource', () => {
  const missing: Right[] = [
    { verb: 'list', group: 'platform.company.com', resource: 'teams' },
    { verb: 'watch', group: 'platform.company.com', resource: 'teams' },
    { verb: 'patch', group: 'platform.company.com', resource: 'policies', subresource: 'status' },
    { verb: 'update', group: 'g', resource: 'webhooks', name: 'kidp-admission' },
    { verb: 'create', group: '', resource: 'secrets', namespace: 'kidp-system' },
  ];
  expect(described(missing)).toBe(
    'list, watch teams.platform.company.com; patch policies.platform.company.com/status; update webhooks.g "kidp-admission"; create secrets in kidp-system',
  );
});

test.each([
  { reason: 'the CRDs are not installed', status: 404, code: 'config/kinds' },
  { reason: 'the API server has not loaded its roles yet', status: 403, code: 'config/discovery' },
  { reason: 'the API server is not up yet', status: 503, code: 'config/discovery' },
])('$reason: $code', async ({ status, code }) => {
  const client = { request: async () => ({ status, headers: {}, warnings: [], text: '' }) } as unknown as Client;
  await expect(
    demandAccess(client, 'kidp-system', 'this test', { dispatch: true, rollouts: true }),
  ).rejects.toMatchObject({ code });
});
