/**
 * The REST API as deployed, in front of any API server: with exactly the rights of manifests/rbac, tokens of a test
 * issuer, and a local chart repository.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { parseAllDocuments } from 'yaml';
import { keysFromFile, newKeySet, openCharts, openDefinitionStore } from '../../../src/fleet/index.ts';
import { type Rest, type RestOptions, startRest } from '../../../src/rest/index.ts';
import {
  type Client,
  type ClusterConfig,
  connect,
  type KubernetesObject,
  type Logger,
  loadKubeconfig,
  type Resource,
} from '../../../src/runtime/index.ts';
import type { LogFields } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { uniqueName } from '../../support/cluster.ts';

export const audience = 'kidp-rest';
const rbac = join(import.meta.dirname, '..', '..', '..', 'manifests', 'rbac');

export interface Facade {
  readonly rest: Rest;
  readonly options: RestOptions;
  /** A chart repository with the chart `widgets`, 1.0.0 and v1.1.0. */
  readonly repository: string;
  readonly log: { readonly lines: string[] };
  token(user: string, groups: readonly string[], claims?: Readonly<Record<string, unknown>>): Promise<string>;
  stop(): Promise<void>;
}

/** `kubeconfig` and `admin` belong to an administrator; the CRDs and the namespace must exist. */
export async function openFacade(
  { kubeconfig, admin, namespace }: { readonly kubeconfig: string; readonly admin: Client; readonly namespace: string },
  more: Partial<RestOptions> = {},
): Promise<Facade> {
  const client = connect(await facadeConfig(kubeconfig, admin, namespace));
  const folder = await mkdtemp(join(tmpdir(), 'kidp-rest-'));
  const { jwks, sign } = await issuer();
  await writeFile(join(folder, 'jwks.json'), JSON.stringify(jwks));
  await writeFile(join(folder, 'cluster-keys.json'), await newKeySet(), { mode: 0o600 });
  const { server, url: repository } = await chartRepository();
  const lines: string[] = [];
  const options: RestOptions = {
    authentication: { keys: { file: join(folder, 'jwks.json') }, audience, issuer: 'test' },
    client,
    systemNamespace: namespace,
    charts: openCharts({ client: admin, systemNamespace: namespace }),
    sealingKeys: keysFromFile(join(folder, 'cluster-keys.json')),
    definitions: (reference) => openDefinitionStore({ client: admin, namespace }).get(reference),
    log: logTo(lines),
    ...more,
  };
  const rest = await startRest(options);
  return {
    rest,
    options,
    repository,
    log: { lines },
    token: (user, groups, claims = {}) => sign({ sub: user, groups, ...claims }),
    async stop() {
      await rest.stop();
      await new Promise((resolve) => server.close(resolve));
      await client.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The rights of manifests/rbac, in a namespace of the test. */
async function facadeConfig(kubeconfig: string, admin: Client, namespace: string): Promise<ClusterConfig> {
  const apply = (object: RbacObject) =>
    admin.apply(rbacResource(object), object, { fieldManager: 'kidp-test', force: true });
  // Identical in every test, so that a concurrent write changes nothing.
  await Promise.all((await objectsIn('roles.yaml', 'bindings.yaml')).map(apply));
  const name = uniqueName('rest');
  for (const object of await objectsIn('rest.yaml')) {
    await apply({
      ...object,
      metadata: { name, ...(object.metadata.namespace === undefined ? {} : { namespace }) },
      ...(object.roleRef === undefined ? {} : { roleRef: { ...object.roleRef, name } }),
      ...(object.subjects === undefined ? {} : { subjects: object.subjects.map((each) => ({ ...each, namespace })) }),
    });
  }
  await rightsAreKnown(admin, namespace);
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.request({ method: 'POST', path: accounts, body: { metadata: { name: 'kidp' } } });
  const { status, text } = await admin.request({ method: 'POST', path: `${accounts}/kidp/token`, body: { spec: {} } });
  if (status !== 201) throw new Error(`asking for a token: ${text}`);
  const { server, certificateAuthority } = loadKubeconfig({ file: kubeconfig });
  return {
    server,
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    token: { data: (JSON.parse(text) as { status: { token: string } }).status.token },
    source: 'the service account of the test',
  };
}

/** The API server needs a moment to observe new roles and bindings. */
async function rightsAreKnown(admin: Client, namespace: string): Promise<void> {
  const account = { user: `system:serviceaccount:${namespace}:kidp` };
  const platform = { group: 'platform.company.com', verb: 'list', resource: 'operators' };
  const wanted = [
    { ...account, resourceAttributes: { verb: 'impersonate', resource: 'users' } },
    { ...account, resourceAttributes: { verb: 'create', resource: 'secrets', namespace } },
    ...['admin', 'operator', 'viewer', 'environment-owner:Production', 'environment-owner:Dev'].map((role) => ({
      user: 'anybody',
      groups: [`kidp:${role}`],
      resourceAttributes: platform,
    })),
  ];
  for (const spec of wanted) {
    await eventually(async () => {
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
      const { text } = await admin.request({ method: 'POST', path, body });
      const { status } = JSON.parse(text) as { status?: { allowed?: boolean } };
      if (status?.allowed !== true) throw new Error(`not allowed yet: ${JSON.stringify(spec)}: ${text}`);
    });
  }
}

interface RbacObject extends KubernetesObject {
  roleRef?: { name: string };
  subjects?: { namespace?: string }[];
}

async function objectsIn(...files: string[]): Promise<RbacObject[]> {
  const texts = await Promise.all(files.map((file) => readFile(join(rbac, file), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as RbacObject));
}

const rbacResource = ({ kind }: RbacObject): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: `${kind.toLowerCase()}s`,
  kind,
  namespaced: !kind.startsWith('Cluster'),
});

async function issuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', use: 'sig', alg: 'ES256' }] };
  const sign = (claims: Readonly<Record<string, unknown>>): Promise<string> => signed(claims, privateKey);
  return { jwks, sign };
}

export const signed = (
  claims: Readonly<Record<string, unknown>>,
  key: CryptoKey,
  header: object = {},
): Promise<string> => {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ iss: 'test', aud: audience, iat: now, exp: now + 3600, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
    .sign(key);
};

async function chartRepository(): Promise<{ server: Server; url: string }> {
  const index = {
    apiVersion: 'v1',
    entries: {
      widgets: ['1.0.0', 'v1.1.0'].map((version) => ({
        apiVersion: 'v2',
        name: 'widgets',
        version,
        digest: 'a'.repeat(64),
        urls: [`widgets-${version}.tgz`],
      })),
    },
  };
  const server = createServer((asked, response) => {
    if (asked.url === '/index.yaml') response.end(JSON.stringify(index));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function logTo(lines: string[], fixed: LogFields = {}): Logger {
  const line =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      const entry = { level, message, ...fixed, ...fields };
      lines.push(
        JSON.stringify(entry, (_key, value: unknown) => (value instanceof Error ? String(value.stack) : value)),
      );
    };
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    with: (fields) => logTo(lines, { ...fixed, ...fields }),
  };
}
