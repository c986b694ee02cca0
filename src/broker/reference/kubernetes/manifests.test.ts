/** Each file of golden/requests maps to the objects in the same file of golden/manifests. `vitest -u` regenerates those: review the diff. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { DeployableKind, DeploymentRequest } from '../../messages.ts';
import { ProviderFailure } from '../provider.ts';
import { cacheValues } from './cache.ts';
import { databaseValues } from './database.ts';
import { type ManifestContext, manifestsFor } from './manifests.ts';
import { secretValues } from './secret.ts';

const golden = join(import.meta.dirname, 'golden');
const uid = '6b1f2f5e-0000-4000-8000-000000000001';

function requestFor(
  kind: DeployableKind,
  spec: Record<string, unknown>,
  more: { name?: string; parameters?: Record<string, string>; costTags?: Record<string, string> } = {},
): DeploymentRequest {
  return {
    action: 'Deploy',
    deploymentId: `${uid}/3/0`,
    broker: 'onprem',
    resource: {
      apiVersion: 'platform.company.com/v1',
      kind,
      namespace: 'team-backend',
      name: more.name ?? 'users',
      uid,
    },
    team: 'team-backend',
    target: { name: 'onprem-prod', provider: 'onprem', parameters: more.parameters ?? {} },
    spec,
    ...(more.costTags === undefined ? {} : { costTags: more.costTags }),
    replyTo: {},
  };
}

const before = { username: 'app', password: 'kept', 'previous-password': 'older', database: 'db_users' };

async function contextOf(request: DeploymentRequest, environment = {}): Promise<ManifestContext> {
  const { kind } = request.resource;
  const values =
    kind === 'Database'
      ? databaseValues(request, before, false)
      : kind === 'Cache'
        ? cacheValues(request, before, false)
        : kind === 'Secret'
          ? await secretValues(request, { cookie: 'kept' }, false, async () => ({ 'api-key': 'fetched' }))
          : {};
  return { values, rotation: {}, environment, images: {} };
}

interface Case {
  reason: string;
  kind: DeployableKind;
  name?: string;
  parameters?: Record<string, string>;
  costTags?: Record<string, string>;
  environment?: Record<string, string>;
  spec: Record<string, unknown>;
}

describe.each(readdirSync(join(golden, 'requests')))('%s', (file) => {
  const given: Case = parse(readFileSync(join(golden, 'requests', file), 'utf8'));
  test(given.reason, async () => {
    const request = requestFor(given.kind, given.spec, given);
    const manifests = manifestsFor(request, await contextOf(request, given.environment));
    const text = manifests.map((each) => stringify(each, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
    await expect(text).toMatchFileSnapshot(join(golden, 'manifests', file));
  });
});

describe('what cannot be had is a permanent failure that says what to do', () => {
  const image = 'app:1';
  test.each([
    { kind: 'Topic', spec: {}, code: 'unsupported-kind', reason: 'another broker has topics' },
    {
      kind: 'Database',
      spec: { engine: 'sqlserver' },
      code: 'unsupported-engine',
      reason: 'an engine it does not know',
    },
    { kind: 'Service', spec: {}, code: 'no-image', reason: 'nothing to run' },
    { kind: 'Service', spec: { image, healthCheck: {} }, code: 'no-port', reason: 'nothing to ask' },
    {
      kind: 'Service',
      spec: { image },
      code: 'invalid-parameter',
      reason: 'a level of Pod security that does not exist',
      parameters: { podSecurity: 'privileged' },
    },
    {
      kind: 'Service',
      spec: { image, ports: [{ port: 80 }], loadBalancer: { port: 'admin' } },
      code: 'no-port',
      reason: 'a port that is not there',
    },
    {
      kind: 'Service',
      spec: { image, ports: [{ port: 80 }], loadBalancer: { scope: 'internal' } },
      code: 'no-internal-ingress',
      reason: 'an internal service must not get a class that may be open to the internet',
      parameters: { ingressClass: 'any', externalIngressClass: 'public', ingressDomain: 'example.com' },
    },
    {
      kind: 'Service',
      spec: { image, ports: [{ port: 80 }], loadBalancer: {} },
      code: 'no-internal-ingress',
      reason: 'nor must one that does not say who can reach it',
      parameters: { ingressClass: 'any', externalIngressClass: 'public', ingressDomain: 'example.com' },
    },
    {
      kind: 'Service',
      spec: { image, ports: [{ port: 80 }], loadBalancer: { scope: 'external' } },
      code: 'no-host',
      reason: 'an Ingress without a host receives the requests for every host',
    },
    {
      kind: 'Service',
      spec: {
        image,
        ports: [{ port: 80 }],
        loadBalancer: { scope: 'external', host: 'a.example.com', sourceRanges: ['10.0.0.0/8'] },
      },
      code: 'no-source-ranges',
      reason: 'a restriction that nobody reads',
    },
  ] as const)('$kind: $reason', ({ kind, spec, code, ...more }) => {
    const request = requestFor(kind, spec, more);
    const decide = () => manifestsFor(request, { values: {}, rotation: {}, environment: {}, images: {} });
    expect(decide).toThrow(ProviderFailure);
    expect(decide).toThrow(expect.objectContaining({ code, class: 'permanent' }));
  });
});

describe('a value from the store of secrets', () => {
  const two = async () => ({ 'api-key': 'a', other: 'b' });
  test.each([
    { remoteRef: { path: 'p' }, store: undefined, code: 'no-secret-store', reason: 'the target has no store' },
    { remoteRef: { path: 'p', version: '2' }, store: two, code: 'no-secret-versions', reason: 'a version' },
    { remoteRef: { path: 'p' }, store: two, code: 'no-such-property', reason: 'which of two?' },
    { remoteRef: { path: 'p', property: 'x' }, store: two, code: 'no-such-property', reason: 'no such entry' },
  ])('cannot be fetched: $reason', async ({ remoteRef, store, code }) => {
    const request = requestFor('Secret', { keys: [{ name: 'k', remoteRef }] });
    await expect(secretValues(request, {}, false, store)).rejects.toMatchObject({ code, class: 'permanent' });
  });
});

test('a Service without a host gets one in the domain of its target', async () => {
  const spec = { image: 'app:1', ports: [{ port: 80 }], loadBalancer: { scope: 'external' } };
  const request = requestFor('Service', spec, { parameters: { ingressDomain: 'apps.example.com' } });
  const ingress = manifestsFor(request, await contextOf(request)).find(({ kind }) => kind === 'Ingress');
  expect(ingress?.spec).toMatchObject({ rules: [{ host: 'users.team-backend.apps.example.com' }] });
});

test('a name is never too long for what Kubernetes makes of it', async () => {
  const longest: Record<string, number> = { StatefulSet: 52, CronJob: 52, Secret: 253 };
  for (const kind of ['Database', 'Cache', 'Service'] as const) {
    const request = requestFor(kind, { image: 'app:1', ports: [{ port: 80 }] }, { name: 'n'.repeat(63) });
    for (const { metadata, kind: made } of manifestsFor(request, await contextOf(request))) {
      expect(metadata.name.length, made).toBeLessThanOrEqual(longest[made] ?? 63);
    }
  }
});

test('new credentials keep user and database, and remember the password before', () => {
  const request = requestFor('Database', {});
  const renewed = databaseValues(request, before, true);
  expect(renewed).toMatchObject({ username: 'app', database: 'db_users', 'previous-password': 'kept' });
  expect(renewed.password).toMatch(/^[A-Za-z0-9]{32}$/);
  expect(databaseValues(request, renewed, false)).toEqual(renewed);
});
