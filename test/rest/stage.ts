/**
 * The REST API over the shared API server, as it is deployed: with the rights of manifests/rbac and no others, tokens of an issuer of the
 * test's own, and a chart repository on this machine. Every answer is held against the OpenAPI document.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { request } from 'undici';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { keysFromFile, newKeySet, openCharts, openDefinitionStore, writeKubeconfig } from '../../src/fleet/index.ts';
import { type Rest, type RestOptions, startRest } from '../../src/rest/index.ts';
import {
  type Client,
  type ClusterConfig,
  connect,
  type KubernetesObject,
  type LogFields,
  type Logger,
  loadKubeconfig,
  type Resource,
} from '../../src/runtime/index.ts';
import { installKinds } from '../api/installed.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';

export const audience = 'kidp-rest';
const rbac = join(import.meta.dirname, '..', '..', 'manifests', 'rbac');

export interface Asked {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
  readonly body: any;
}

export interface AskOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another replica. */
  readonly url?: string;
}

export interface Stage {
  readonly rest: Rest;
  /** As an administrator of Kubernetes. */
  readonly admin: Client;
  readonly namespace: string;
  /** Of the shared API server. */
  readonly kubeconfig: string;
  /** A chart repository with the chart `widgets`, 1.0.0 and v1.1.0. */
  readonly repository: string;
  readonly log: { readonly lines: string[] };
  readonly options: RestOptions;
  token(user: string, groups: readonly string[], claims?: Readonly<Record<string, unknown>>): Promise<string>;
  ask(path: string, options?: AskOptions): Promise<Asked>;
  stop(): Promise<void>;
}

export async function openStage(more: Partial<RestOptions> = {}): Promise<Stage> {
  const cluster = sharedCluster();
  const admin = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  await installKinds();
  const namespace = await cluster.uniqueNamespace('rest');
  const facade = connect(await facadeConfig(admin, namespace));
  const folder = await mkdtemp(join(tmpdir(), 'kidp-rest-'));
  const { jwks, sign } = await issuer();
  await writeFile(join(folder, 'jwks.json'), JSON.stringify(jwks));
  await writeFile(join(folder, 'cluster-keys.json'), await newKeySet(), { mode: 0o600 });
  const { server, url: repository } = await chartRepository();
  const lines: string[] = [];
  const options: RestOptions = {
    authentication: { keys: { file: join(folder, 'jwks.json') }, audience, issuer: 'test' },
    client: facade,
    systemNamespace: namespace,
    charts: openCharts({ client: admin, systemNamespace: namespace }),
    sealingKeys: keysFromFile(join(folder, 'cluster-keys.json')),
    definitions: (reference) => openDefinitionStore({ client: admin, namespace }).get(reference),
    log: logTo(lines),
    ...more,
  };
  const rest = await startRest(options);
  const token: Stage['token'] = (user, groups, claims = {}) => sign({ sub: user, groups, ...claims });
  const ask = await asking(rest.url, await token('reader-of-the-document', []));
  return {
    rest,
    admin,
    namespace,
    kubeconfig: writeKubeconfig(loadKubeconfig({ file: cluster.kubeconfig })),
    repository,
    log: { lines },
    options,
    token,
    ask,
    async stop() {
      await rest.stop();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all([facade.close(), admin.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The rights of manifests/rbac, in a namespace of the test's own. */
async function facadeConfig(admin: Client, namespace: string): Promise<ClusterConfig> {
  const apply = (object: RbacObject) =>
    admin.apply(rbacResource(object), object, { fieldManager: 'kidp-test', force: true });
  // The same from every test: whoever comes second changes nothing.
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
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.request({ method: 'POST', path: accounts, body: { metadata: { name: 'kidp' } } });
  const { status, text } = await admin.request({ method: 'POST', path: `${accounts}/kidp/token`, body: { spec: {} } });
  if (status !== 201) throw new Error(`asking for a token: ${text}`);
  const { server, certificateAuthority } = loadKubeconfig({ file: sharedCluster().kubeconfig });
  return {
    server,
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    token: { data: (JSON.parse(text) as { status: { token: string } }).status.token },
    source: 'the service account of the test',
  };
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

interface Operation {
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema: object }> }>>;
}

/** Asks, and fails where the answer is not one that the document has for this operation. */
async function asking(url: string, reader: string): Promise<Stage['ask']> {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const document = JSON.parse(await textOf(`${url}/openapi.json`, reader)) as {
    paths: Record<string, Record<string, Operation>>;
    components: object;
  };
  const checks = new Map<object, ValidateFunction>();
  const checkOf = (schema: object): ValidateFunction => {
    const known = checks.get(schema) ?? ajv.compile({ ...schema, components: document.components });
    checks.set(schema, known);
    return known;
  };
  const forms = Object.keys(document.paths)
    // A path without parameters before one that would take it in.
    .sort((one, other) => one.split('{').length - other.split('{').length)
    .map((path) => ({ path, form: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`) }));
  return async (path, { method = 'GET', body, token, headers = {}, url: other = url } = {}) => {
    const answer = await request(`${other}${path}`, {
      method: method as 'GET',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const asked: Asked = {
      status: answer.statusCode,
      headers: answer.headers,
      text,
      body: text === '' ? undefined : parsed(text),
    };
    const known = forms.find(({ form }) => form.test(path.split('?', 1)[0] ?? ''));
    const operation = known === undefined ? undefined : document.paths[known.path]?.[method.toLowerCase()];
    if (operation !== undefined) demandDocumented(asked, operation, `${method} ${path}`);
    return asked;
  };

  function demandDocumented(asked: Asked, { responses }: Operation, what: string): void {
    const described = responses[String(asked.status)];
    expect(described, `${what} answered ${asked.status}, which is not in the document: ${asked.text}`).toBeDefined();
    const [type] = String(asked.headers['content-type'] ?? '').split(';', 1);
    const schema = described?.content?.[type ?? '']?.schema;
    if (schema === undefined) {
      expect(asked.text, `${what}: ${asked.status} of the type ${type}`).toBe('');
      return;
    }
    const check = checkOf(schema);
    expect(check(asked.body) ? [] : check.errors, `${what}: ${asked.text.slice(0, 2000)}`).toEqual([]);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function textOf(url: string, token: string): Promise<string> {
  const { statusCode, body } = await request(url, { headers: { authorization: `Bearer ${token}` } });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${text}`);
  return text;
}
