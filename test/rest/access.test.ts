/**
 * Tests of access: the role table of docs/requirements.md, 002, enforced by the façade and by RBAC, and rejected
 * tokens.
 */
import { createSign, generateKeyPairSync } from 'node:crypto';
import { type ConnectionOptions, connect } from 'node:tls';
import { generateKeyPair } from 'jose';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRest } from '../../src/rest/index.ts';
import type { Client, KubernetesObject, Resource } from '../../src/runtime/index.ts';
import { issueAuthority, issueLeaf } from '../../src/runtime/internal.ts';
import { FakeClock } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { audience, signed } from './support/facade.ts';
import { openStage, type Stage } from './support/testbed.ts';

let stage: Stage;
/** A key that is not in the key set, with the id of one that is. */
const stranger = await generateKeyPair('ES256');

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.stop());

const groupOf = {
  Admin: 'kidp:admin',
  Operator: 'kidp:operator',
  Viewer: 'kidp:viewer',
  EnvironmentOwner: 'kidp:environment-owner:Production',
} as const;
type Role = keyof typeof groupOf;
const roles = Object.keys(groupOf) as Role[];

/** The roles in the requirement, and those derived from it for other endpoints. */
const mayCall: readonly (readonly [method: string, path: string, roles: readonly Role[]])[] = [
  ['POST', '/api/v1/operators', ['Admin', 'Operator']],
  ['GET', '/api/v1/operators', roles],
  ['GET', '/api/v1/operators/no-such', roles],
  ['DELETE', '/api/v1/operators/no-such', ['Admin', 'Operator']],
  ['GET', '/api/v1/operators/no-such/health', roles],
  ['POST', '/api/v1/clusters', ['Admin']],
  ['GET', '/api/v1/clusters', roles],
  ['GET', '/api/v1/clusters/sealing-key', roles],
  ['GET', '/api/v1/clusters/no-such', roles],
  ['DELETE', '/api/v1/clusters/no-such', ['Admin']],
  ['GET', '/api/v1/clusters/no-such/health', roles],
  ['GET', '/api/v1/clusters/no-such/operators/no-such/health', roles],
  ['POST', '/api/v1/deployments', ['Admin', 'Operator']],
  ['GET', '/api/v1/deployments', roles],
  ['GET', '/api/v1/deployments/no-such', roles],
  ['DELETE', '/api/v1/deployments/no-such', ['Admin']],
  ['POST', '/api/v1/deployments/no-such/rollback', ['Admin']],
  ['GET', '/api/v1/deployments/no-such/rollback-status', roles],
  ['POST', '/api/v1/deployments/no-such/pause', ['Admin', 'Operator']],
  ['POST', '/api/v1/deployments/no-such/resume', ['Admin', 'Operator']],
  ['POST', '/api/v1/deployments/no-such/promote', ['Admin', 'Operator']],
  ['POST', '/api/v1/deployments/no-such/abort', ['Admin', 'Operator']],
  ['POST', '/api/v1/crds', ['Admin', 'Operator']],
  ['GET', '/api/v1/crds', roles],
  ['GET', '/api/v1/crds/no-such', roles],
  ['POST', '/api/v1/crds/no-such/validate', roles],
  ['POST', '/api/v1/crds/no-such/approve', ['Admin']],
  ['GET', '/api/v1/approvals', roles],
  ['GET', '/api/v1/approvals/no-such', roles],
  ['POST', '/api/v1/approvals/no-such/approve', ['Admin', 'EnvironmentOwner']],
  ['POST', '/api/v1/approvals/no-such/reject', ['Admin', 'EnvironmentOwner']],
];

test('each endpoint allows exactly its roles', async () => {
  for (const [method, path, allowed] of mayCall) {
    for (const role of roles) {
      const token = await stage.token(uniqueName('user'), [groupOf[role]]);
      const { status, body } = await stage.ask(path, { method, token });
      // An authorized caller gets a validation error or a 404 instead.
      if (allowed.includes(role)) expect([200, 400, 404], `${role}: ${method} ${path}`).toContain(status);
      else expect([status, body.code], `${role}: ${method} ${path}`).toEqual([403, 'forbidden']);
    }
    const nobody = await stage.token(uniqueName('user'), ['developers']);
    expect((await stage.ask(path, { method, token: nobody })).status, `nobody: ${method} ${path}`).toBe(403);
    expect((await stage.ask(path, { method })).status, `without a token: ${method} ${path}`).toBe(401);
  }
});

test('the table above has every endpoint of the document', async () => {
  const token = await stage.token('anybody', []);
  const { body } = await stage.ask('/openapi.json', { token });
  const documented = Object.entries(body.paths as Record<string, object>).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, 'no-such')}`),
  );
  const listed = mayCall.map(([method, path]) => `${method} ${path}`);
  expect([...listed, 'GET /health', 'GET /openapi.json'].sort()).toEqual(documented.sort());
});

describe('RBAC enforces the same table without the façade', () => {
  const kinds = ['operators', 'clusters', 'operatordeployments', 'operatorinstallations', 'approvals'];
  const may: Readonly<Record<string, readonly Role[]>> = {
    ...Object.fromEntries(
      kinds.flatMap((kind) => [
        [`get ${kind}`, roles],
        [`list ${kind}`, roles],
      ]),
    ),
    'create operators': ['Admin', 'Operator'],
    'delete operators': ['Admin', 'Operator'],
    'create clusters': ['Admin'],
    'delete clusters': ['Admin'],
    'create operatordeployments': ['Admin', 'Operator'],
    'patch operatordeployments': ['Admin', 'Operator'],
    'delete operatordeployments': ['Admin'],
    'rollback operatordeployments': ['Admin'],
    'update approvals': ['Admin', 'EnvironmentOwner'],
    'approve approvals': ['Admin', 'EnvironmentOwner'],
    'create operatorinstallations': [],
    'create crdrevisions': [],
    'register crdrevisions': ['Admin', 'Operator'],
    'patch operatordeployments/status': [],
    'patch clusters/status': [],
  };

  test.each(roles)('%s', async (role) => {
    const client = stage.admin.impersonate({ user: uniqueName('user'), groups: [groupOf[role]] });
    for (const [what, allowed] of Object.entries(may)) {
      const [verb = '', resource = ''] = what.split(' ');
      expect(await isAllowed(client, verb, resource), `${role}: ${what}`).toBe(allowed.includes(role));
    }
    expect(await isAllowed(client, 'get', 'secrets', '', stage.namespace), `${role}: Secrets`).toBe(false);
  });
});

const accessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};

async function isAllowed(
  client: Client,
  verb: string,
  full: string,
  group = 'platform.company.com',
  namespace?: string,
) {
  interface Review extends KubernetesObject {
    spec: object;
    status?: { allowed?: boolean };
  }
  const [resource = '', subresource = ''] = full.split('/');
  const { status } = await client.create<Review>(accessReviews, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: accessReviews.kind,
    metadata: {} as Review['metadata'],
    spec: {
      resourceAttributes: { verb, group, resource, subresource, ...(namespace === undefined ? {} : { namespace }) },
    },
  });
  return status?.allowed === true;
}

describe('rejected tokens', () => {
  const hour = 3600;
  const now = () => Math.floor(Date.now() / 1000);
  const claims = { sub: 'mallory', groups: ['kidp:admin'] };
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  test.each<{ reason: string; code: string; token: () => Promise<string | undefined> }>([
    { reason: 'no token', code: 'missing-token', token: async () => undefined },
    { reason: 'not a token', code: 'malformed', token: async () => 'abc' },
    { reason: 'signed with another key', code: 'forged', token: () => signed(claims, stranger.privateKey) },
    {
      reason: 'an unknown key id',
      code: 'unknown-key',
      token: () => signed(claims, stranger.privateKey, { kid: 'two' }),
    },
    { reason: 'expired', code: 'expired', token: () => stage.token('mallory', [], { exp: now() - hour }) },
    {
      reason: 'not valid yet',
      code: 'wrong-nbf',
      token: () => stage.token('mallory', [], { nbf: now() + hour }),
    },
    {
      reason: 'no expiry',
      code: 'wrong-exp',
      token: () => stage.token('mallory', [], { exp: undefined }),
    },
    { reason: 'another audience', code: 'wrong-aud', token: () => stage.token('mallory', [], { aud: 'other' }) },
    { reason: 'another issuer', code: 'wrong-iss', token: () => stage.token('mallory', [], { iss: 'other' }) },
    { reason: 'no user', code: 'no-user', token: () => stage.token('', ['kidp:admin']) },
    {
      reason: 'a system: user',
      code: 'no-user',
      token: () => stage.token('system:admin', []),
    },
    {
      reason: 'a name that is invalid in a header',
      code: 'no-user',
      token: () => stage.token('mallory\r\nimpersonate-group: system:masters', []),
    },
    {
      reason: 'unsigned',
      code: 'algorithm',
      token: async () =>
        `${base64({ alg: 'none' })}.${base64({ ...claims, iss: 'test', aud: audience, exp: now() + hour })}.`,
    },
    {
      reason: 'the public key as an HMAC secret',
      code: 'algorithm',
      token: async () => {
        const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
        const text = `${base64({ alg: 'HS256', kid: 'one' })}.${base64({ ...claims, iss: 'test', aud: audience, exp: now() + hour })}`;
        return `${text}.${createSign('sha256').update(text).sign(privateKey).toString('base64url')}`;
      },
    },
  ])('$reason: $code', async ({ code, token }) => {
    const { status, body, headers } = await stage.ask('/api/v1/operators', { token: await token() });
    expect([status, body.code]).toEqual([401, code]);
    expect(headers['www-authenticate']).toMatch(/^Bearer realm="kidp"/);
  });

  test('ignores groups of Kubernetes in a token', async () => {
    const token = await stage.token('mallory', ['system:masters', 'system:nodes']);
    expect((await stage.ask('/api/v1/operators', { token })).status).toBe(403);
    const viewer = await stage.token('mallory', ['system:masters', 'kidp:viewer']);
    expect((await stage.ask('/api/v1/operators', { token: viewer })).status).toBe(200);
    expect((await stage.ask('/api/v1/clusters/no-such', { method: 'DELETE', token: viewer })).status).toBe(403);
  });

  test('/health and /docs need no token and contain no secrets', async () => {
    expect((await stage.ask('/health')).body).toEqual({ status: 'ok' });
    const page = await stage.ask('/docs');
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'/);
    expect(page.text).not.toMatch(/https?:\/\//);
    expect((await stage.ask('/openapi.json')).status).toBe(401);
  });
});

test('maps groups of an issuer, from a configurable claim, to roles', async () => {
  const rest = await startRest({
    ...stage.options,
    authentication: {
      ...stage.options.authentication,
      userClaim: 'email',
      groupsClaim: 'realm.roles',
      groupNames: { 'platform-team': 'kidp:admin' },
    },
  });
  try {
    const token = await stage.token('1234', [], { email: 'ann@example.com', realm: { roles: ['platform-team'] } });
    expect((await stage.ask('/api/v1/clusters/no-such', { method: 'DELETE', token, url: rest.url })).status).toBe(404);
    const without = await stage.token('1234', ['kidp:admin'], { email: 'ann@example.com' });
    expect((await stage.ask('/api/v1/operators', { token: without, url: rest.url })).status).toBe(403);
  } finally {
    await rest.stop();
  }
});

test('accepts TLS 1.2 and newer only', async () => {
  const validity = { now: Date.now(), validMilliseconds: 600_000, backdateMilliseconds: 60_000 };
  const authority = issueAuthority(validity);
  const leaf = issueLeaf(authority, { ...validity, names: ['127.0.0.1'] });
  const tls = { current: () => leaf, subscribe: () => () => {} };
  const rest = await startRest({ ...stage.options, tls });
  const spoken = (options: ConnectionOptions) =>
    new Promise<string | null>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: rest.port, ca: authority.certificate, ...options }, () => {
        resolve(socket.getProtocol());
        socket.destroy();
      });
      socket.once('error', reject);
    });
  // A client that accepts any version.
  const ciphers = 'DEFAULT@SECLEVEL=0';
  try {
    expect(rest.url).toMatch(/^https:/);
    for (const version of ['TLSv1', 'TLSv1.1'] as const)
      await expect(spoken({ minVersion: version, maxVersion: version, ciphers }), version).rejects.toThrow();
    expect(await spoken({ maxVersion: 'TLSv1.2' })).toBe('TLSv1.2');
    expect(await spoken({})).toBe('TLSv1.3');
    const agent = new Agent({ connect: { ca: authority.certificate } });
    const { statusCode, headers, body } = await request(`${rest.url}/health`, { dispatcher: agent });
    await body.dump();
    expect(statusCode).toBe(200);
    expect(headers['strict-transport-security']).toMatch(/^max-age=\d+/);
    await agent.close();
  } finally {
    await rest.stop();
  }
});

test('requires TLS unless it listens on the loopback address', async () => {
  await expect(startRest({ ...stage.options, host: '0.0.0.0' })).rejects.toMatchObject({ code: 'config/rest-tls' });
});

describe('rate limits', () => {
  test.each([
    { what: 'POST /api/v1/deployments', method: 'POST', path: '/api/v1/deployments', limit: 10 },
    { what: 'POST /api/v1/clusters', method: 'POST', path: '/api/v1/clusters', limit: 5 },
    { what: 'GET /api/v1/operators', method: 'GET', path: '/api/v1/operators?limit=0', limit: 60 },
    { what: 'GET /api/v1/clusters', method: 'GET', path: '/api/v1/clusters?limit=0', limit: 60 },
  ])('$what: allows $limit requests per user', async ({ method, path, limit }) => {
    // Invalid requests count as well, and need no resources.
    const clock = new FakeClock(Date.now());
    const rest = await startRest({ ...stage.options, clock });
    try {
      const token = await stage.token(uniqueName('busy'), ['kidp:admin']);
      const call = () => stage.ask(path, { method, token, url: rest.url, ...(method === 'POST' ? { body: {} } : {}) });
      for (let at = 0; at < limit; at += 1) expect((await call()).status).toBe(400);
      const refused = await call();
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate-limited' } });
      expect(Number(refused.headers['retry-after'])).toBe(60);
      const other = await stage.token(uniqueName('busy'), ['kidp:admin']);
      expect(
        (await stage.ask(path, { method, token: other, url: rest.url, ...(method === 'POST' ? { body: {} } : {}) }))
          .status,
      ).toBe(400);
      clock.jump(60_000);
      expect((await call()).status).toBe(400);
    } finally {
      await rest.stop();
    }
  });

  test('two replicas together allow as much as one', async () => {
    const clock = new FakeClock(Date.now());
    const replicas = await Promise.all([0, 1].map(() => startRest({ ...stage.options, clock, replicas: () => 2 })));
    try {
      const token = await stage.token(uniqueName('busy'), ['kidp:operator']);
      const statuses: number[] = [];
      for (let at = 0; at < 24; at += 1) {
        const { url } = replicas[at % 2] ?? stage.rest;
        statuses.push((await stage.ask('/api/v1/deployments', { method: 'POST', token, url, body: {} })).status);
      }
      expect(statuses.filter((status) => status === 400)).toHaveLength(10);
      expect(statuses.filter((status) => status === 429)).toHaveLength(14);
    } finally {
      await Promise.all(replicas.map((each) => each.stop()));
    }
  });
});
