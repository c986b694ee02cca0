/**
 * Parses the kubeconfig of a Cluster strictly: one context, everything inline. Anything that would run a program, read
 * a file or connect elsewhere is rejected. Errors name the field and quote nothing, because all of it is secret.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ClusterConfig } from '../../runtime/index.ts';
import { faultIn, isLoopback, parseDocuments } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A larger kubeconfig has more than one context, or is not one. */
const mostCharacters = 262_144;

/** `readClusterKubeconfig` throws FleetError `cluster/kubeconfig-refused`. */
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
    throw refused('current-context', 'names no existing context');
  }
  known(context.fields, 'contexts[0].context', ['cluster', 'user', 'namespace', 'extensions']);
  if (context.fields.cluster !== cluster.name)
    throw refused('contexts[0].context.cluster', 'names no existing cluster');
  if (context.fields.user !== user.name) throw refused('contexts[0].context.user', 'names no existing user');
  return {
    ...serverOf(cluster.fields),
    ...credentialsOf(user.fields),
    source: 'the sealed kubeconfig',
  } as ClusterConfig;
}

function documentIn(text: string): Fields {
  if (text.length > mostCharacters) throw refused('', `is longer than ${mostCharacters} characters`);
  let value: unknown;
  try {
    const [document, ...more] = parseDocuments(text, { prettyErrors: false, strict: true, uniqueKeys: false });
    if (document === undefined || more.length > 0) throw refused('', 'must be exactly one YAML document');
    // Parser errors quote their input.
    if (document.errors.length > 0 || faultIn(document) !== undefined) throw refused('', 'is not valid YAML');
    value = document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    if (error instanceof FleetError) throw error;
    throw refused('', 'is not valid YAML, or contains aliases');
  }
  if (!isFields(value)) throw refused('', 'is not a kubeconfig');
  if (value.kind !== undefined && value.kind !== 'Config') throw refused('kind', 'must be Config');
  if (value.apiVersion !== undefined && value.apiVersion !== 'v1') throw refused('apiVersion', 'must be v1');
  return value;
}

/** More than one entry would be unrequested credentials. */
function only(document: Fields, list: string, field: string): { readonly name: string; readonly fields: Fields } {
  const entries = document[list];
  if (!Array.isArray(entries)) throw refused(list, 'must be a list');
  if (entries.length !== 1) {
    throw refused(
      list,
      `must have exactly one entry, not ${entries.length}: use the output of \`kubectl config view --minify --flatten --raw\``,
    );
  }
  const [entry] = entries as unknown[];
  if (!isFields(entry) || typeof entry.name !== 'string') throw refused(`${list}[0].name`, 'must be a string');
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
      'would send the credentials to an unverified server: set certificate-authority-data',
    );
  }
  if (fields['proxy-url'] !== undefined)
    throw refused(`${at}.proxy-url`, 'is not supported: the platform must reach the server directly');
  const server = addressIn(fields.server, `${at}.server`);
  const tlsServerName = optionalText(fields, at, 'tls-server-name');
  if (tlsServerName !== undefined && !/^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(tlsServerName)) {
    throw refused(`${at}.tls-server-name`, 'is not a host name');
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
    throw refused(field, 'must not contain a user, query or fragment');
  }
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return value;
  throw refused(field, 'must start with https://');
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
      throw refused(`${at}.${field}`, 'is no longer supported by Kubernetes: use a token or a client certificate');
  }
  for (const field of ['as', 'as-uid', 'as-groups', 'as-user-extra']) {
    if (fields[field] !== undefined)
      throw refused(`${at}.${field}`, 'is not supported: use the credentials of the user itself');
  }
  const token = optionalText(fields, at, 'token');
  if (token !== undefined && !/^[\x21-\x7e]{1,16384}$/.test(token))
    throw refused(`${at}.token`, 'contains invalid characters');
  const certificate = pem(fields, at, 'client-certificate-data');
  const key = pem(fields, at, 'client-key-data');
  if ((certificate === undefined) !== (key === undefined)) {
    throw refused(
      `${at}.client-${key === undefined ? 'key' : 'certificate'}-data`,
      'must be set: a client certificate requires its key',
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
  // The field is not named: a value pasted in the wrong place may be the secret itself.
  if (Object.keys(fields).some((name) => !names.includes(name))) {
    throw refused(at, `has an unknown field; known fields are ${names.join(', ')}`);
  }
}

function noFile(fields: Fields, at: string, field: string): void {
  if (fields[field] === undefined) return;
  throw refused(
    `${at}.${field}`,
    `names a local file: inline its content as ${field === 'tokenFile' ? 'token' : `${field}-data`}, as \`kubectl config view --minify --flatten --raw\` does`,
  );
}

function optionalText(fields: Fields, at: string, field: string): string | undefined {
  const value = fields[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw refused(`${at}.${field}`, 'must be a string');
  return value;
}

function pem(fields: Fields, at: string, field: string): string | undefined {
  const encoded = optionalText(fields, at, field);
  if (encoded === undefined) return undefined;
  const decoded = /^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(encoded) ? Buffer.from(encoded, 'base64').toString('utf8') : '';
  if (!decoded.includes('-----BEGIN ')) throw refused(`${at}.${field}`, 'must be PEM, in base64');
  return decoded;
}

/** TLS would ignore an invalid certificate and then trust nothing. */
function requireCertificates(bundle: string, field: string): void {
  const blocks = bundle.match(/-----BEGIN [^-]+-----[\s\S]*?-----END [^-]+-----/g) ?? [];
  try {
    if (blocks.length === 0) throw new Error('none');
    for (const block of blocks) new X509Certificate(block);
  } catch {
    throw refused(field, 'is not a valid certificate');
  }
}

function requireKeyPair(cert: string, key: string, field: string): void {
  try {
    createSecureContext({ cert, key });
  } catch {
    throw refused(field, 'is not a valid certificate, or does not match its key');
  }
}

function refused(field: string, why: string): FleetError {
  const where = field === '' ? 'the kubeconfig' : `${field} of the kubeconfig`;
  return new FleetError('cluster/kubeconfig-refused', `${where} ${why}`);
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
