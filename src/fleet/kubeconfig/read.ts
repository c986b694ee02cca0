/**
 * Reads the kubeconfig of a Cluster, strictly: one context, everything inline. What would run a program here, read a file here or lead
 * elsewhere is refused. What is refused is named by its field; nothing of the text is repeated, it is all secret.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { parseAllDocuments } from 'yaml';
import type { ClusterConfig } from '../../runtime/index.ts';
import { isLoopback } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Larger ones have more than one context, or are none. */
const mostCharacters = 262_144;

/** Throws FleetError `cluster/kubeconfig-refused`. */
export function readClusterKubeconfig(text: string): ClusterConfig {
  const document = documentIn(text);
  known(document, '', [
    'apiVersion',
    'kind',
    'clusters',
    'users',
    'contexts',
    'current-context',
    'preferences',
    'extensions',
  ]);
  const context = only(document, 'contexts', 'context');
  const cluster = only(document, 'clusters', 'cluster');
  const user = only(document, 'users', 'user');
  const current = document['current-context'];
  if (current !== undefined && current !== '' && current !== context.name) {
    throw refused('current-context', 'names no context that is there');
  }
  known(context.fields, 'contexts[0].context', ['cluster', 'user', 'namespace', 'extensions']);
  if (context.fields.cluster !== cluster.name)
    throw refused('contexts[0].context.cluster', 'names no cluster that is there');
  if (context.fields.user !== user.name) throw refused('contexts[0].context.user', 'names no user that is there');
  return {
    ...serverOf(cluster.fields),
    ...credentialsOf(user.fields),
    source: 'the sealed kubeconfig',
  } as ClusterConfig;
}

function documentIn(text: string): Fields {
  if (text.length > mostCharacters) throw refused('', `is longer than ${mostCharacters} characters`);
  let documents: ReturnType<typeof parseAllDocuments>;
  let value: unknown;
  try {
    documents = parseAllDocuments(text, { prettyErrors: false, strict: true, uniqueKeys: true });
    if (documents.length !== 1 || documents[0] === undefined) throw refused('', 'must be exactly one YAML document');
    // The messages of the parser quote what they complain about.
    if (documents[0].errors.length > 0) throw refused('', 'is not valid YAML');
    value = documents[0].toJS({ maxAliasCount: 0 });
  } catch (error) {
    if (error instanceof FleetError) throw error;
    throw refused('', 'is not valid YAML, or has aliases in it');
  }
  if (!isFields(value)) throw refused('', 'is no kubeconfig');
  if (value.kind !== undefined && value.kind !== 'Config') throw refused('kind', 'must be Config');
  if (value.apiVersion !== undefined && value.apiVersion !== 'v1') throw refused('apiVersion', 'must be v1');
  return value;
}

/** More than one would be credentials that nobody asked for. */
function only(document: Fields, list: string, field: string): { readonly name: string; readonly fields: Fields } {
  const entries = document[list];
  if (!Array.isArray(entries)) throw refused(list, 'must be a list');
  if (entries.length !== 1) {
    throw refused(
      list,
      `must have exactly one entry, not ${entries.length}: send what \`kubectl config view --minify --flatten --raw\` prints`,
    );
  }
  const [entry] = entries as unknown[];
  if (!isFields(entry) || typeof entry.name !== 'string') throw refused(`${list}[0].name`, 'must be a text');
  known(entry, `${list}[0]`, ['name', field]);
  const fields = entry[field];
  if (!isFields(fields)) throw refused(`${list}[0].${field}`, 'must be an object');
  return { name: entry.name, fields };
}

const clusterFields = [
  'server',
  'certificate-authority-data',
  'certificate-authority',
  'tls-server-name',
  'insecure-skip-tls-verify',
  'proxy-url',
  'disable-compression',
  'extensions',
];

function serverOf(fields: Fields): Partial<ClusterConfig> {
  const at = 'clusters[0].cluster';
  known(fields, at, clusterFields);
  noFile(fields, at, 'certificate-authority');
  if (fields['insecure-skip-tls-verify'] !== undefined && fields['insecure-skip-tls-verify'] !== false) {
    throw refused(
      `${at}.insecure-skip-tls-verify`,
      'would hand the credentials to whoever answers: give certificate-authority-data',
    );
  }
  if (fields['proxy-url'] !== undefined)
    throw refused(`${at}.proxy-url`, 'is not supported: the platform must reach the server itself');
  const server = addressIn(fields.server, `${at}.server`);
  const tlsServerName = optionalText(fields, at, 'tls-server-name');
  if (tlsServerName !== undefined && !/^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(tlsServerName)) {
    throw refused(`${at}.tls-server-name`, 'is no name of a host');
  }
  const authority = pem(fields, at, 'certificate-authority-data');
  if (authority !== undefined) requireCertificates(authority, `${at}.certificate-authority-data`);
  return {
    server,
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(authority === undefined ? {} : { certificateAuthority: { data: authority } }),
  };
}

function addressIn(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length > 2048 || !URL.canParse(value))
    throw refused(field, 'must be an address such as https://host:6443');
  const { protocol, hostname, username, password, search, hash } = new URL(value);
  if (username !== '' || password !== '' || search !== '' || hash !== '') {
    throw refused(field, 'must have no user, query or fragment in it');
  }
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return value;
  throw refused(field, 'must begin with https://');
}

const userFields = [
  'token',
  'client-certificate-data',
  'client-key-data',
  'client-certificate',
  'client-key',
  'tokenFile',
  'exec',
  'auth-provider',
  'username',
  'password',
  'as',
  'as-uid',
  'as-groups',
  'as-user-extra',
  'extensions',
];

function credentialsOf(fields: Fields): Partial<ClusterConfig> {
  const at = 'users[0].user';
  known(fields, at, userFields);
  for (const field of ['exec', 'auth-provider']) {
    if (fields[field] !== undefined) {
      throw refused(
        `${at}.${field}`,
        'would run a program on the platform: use the token of a service account, or a client certificate',
      );
    }
  }
  for (const field of ['client-certificate', 'client-key', 'tokenFile']) noFile(fields, at, field);
  for (const field of ['username', 'password']) {
    if (fields[field] !== undefined)
      throw refused(`${at}.${field}`, 'is not taken by Kubernetes any more: use a token or a client certificate');
  }
  for (const field of ['as', 'as-uid', 'as-groups', 'as-user-extra']) {
    if (fields[field] !== undefined)
      throw refused(`${at}.${field}`, 'is not supported: give the credentials of the user itself');
  }
  const token = optionalText(fields, at, 'token');
  if (token !== undefined && !/^[\x21-\x7e]{1,16384}$/.test(token))
    throw refused(`${at}.token`, 'has characters in it that no token has');
  const certificate = pem(fields, at, 'client-certificate-data');
  const key = pem(fields, at, 'client-key-data');
  if ((certificate === undefined) !== (key === undefined)) {
    throw refused(
      `${at}.client-${key === undefined ? 'key' : 'certificate'}-data`,
      'is missing: a certificate and its key belong together',
    );
  }
  if (token === undefined && certificate === undefined)
    throw refused(at, 'has neither a token nor a client certificate');
  if (certificate !== undefined && key !== undefined) requireKeyPair(certificate, key, `${at}.client-certificate-data`);
  return {
    ...(token === undefined ? {} : { token: { data: token } }),
    ...(certificate === undefined ? {} : { clientCertificate: { data: certificate } }),
    ...(key === undefined ? {} : { clientKey: { data: key } }),
  };
}

function known(fields: Fields, at: string, names: readonly string[]): void {
  // By its place, not by its name: what somebody pasted in the wrong place may be the secret itself.
  if (Object.keys(fields).some((name) => !names.includes(name))) {
    throw refused(at, `has a field that a kubeconfig does not have; it may have ${names.join(', ')}`);
  }
}

function noFile(fields: Fields, at: string, field: string): void {
  if (fields[field] === undefined) return;
  throw refused(
    `${at}.${field}`,
    `names a file, which is not here: put its content into ${field === 'tokenFile' ? 'token' : `${field}-data`}, as \`kubectl config view --minify --flatten --raw\` does`,
  );
}

function optionalText(fields: Fields, at: string, field: string): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw refused(`${at}.${field}`, 'must be a text');
  return value;
}

function pem(fields: Fields, at: string, field: string): string | undefined {
  const encoded = optionalText(fields, at, field);
  if (encoded === undefined) return undefined;
  const decoded = /^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(encoded) ? Buffer.from(encoded, 'base64').toString('utf8') : '';
  if (!decoded.includes('-----BEGIN ')) throw refused(`${at}.${field}`, 'must be PEM, in base64');
  return decoded;
}

/** TLS itself would pass over what is none, and trust nobody. */
function requireCertificates(bundle: string, field: string): void {
  const blocks = bundle.match(/-----BEGIN [^-]+-----[\s\S]*?-----END [^-]+-----/g) ?? [];
  try {
    if (blocks.length === 0) throw new Error('none');
    for (const block of blocks) new X509Certificate(block);
  } catch {
    throw refused(field, 'is no certificate that can be used');
  }
}

function requireKeyPair(cert: string, key: string, field: string): void {
  try {
    createSecureContext({ cert, key });
  } catch {
    throw refused(field, 'is no certificate that can be used, or does not belong to its key');
  }
}

function refused(field: string, why: string): FleetError {
  const where = field === '' ? 'the kubeconfig' : `${field} of the kubeconfig`;
  return new FleetError('cluster/kubeconfig-refused', `${where} ${why}`);
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
