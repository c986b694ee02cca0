import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { issueAuthority } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { readClusterKubeconfig } from './read.ts';
import { writeKubeconfig } from './write.ts';

const issue = () => issueAuthority({ now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 0 });
const { certificate, key } = issue();
const base64 = (text: string) => Buffer.from(text).toString('base64');

interface Parts {
  cluster?: object;
  user?: object;
  context?: object;
  document?: object;
}

const kubeconfig = ({ cluster, user, context, document }: Parts = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server: 'https://api.example.com:6443', ...cluster } }],
  users: [{ name: 'u', user: { token: 'secret-word', ...user } }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', ...context } }],
  'current-context': 'x',
  ...document,
});

describe('a kubeconfig', () => {
  test.each([
    { parts: {}, reason: 'a token' },
    {
      parts: { user: { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) } },
      reason: 'and a certificate',
    },
    { parts: { cluster: { 'certificate-authority-data': base64(certificate) } }, reason: 'an authority' },
    { parts: { cluster: { 'tls-server-name': 'kubernetes.default' } }, reason: 'another name in the certificate' },
    { parts: { cluster: { server: 'http://127.0.0.1:8001' } }, reason: 'plain, on this machine' },
    {
      parts: { cluster: { 'insecure-skip-tls-verify': false, 'disable-compression': true } },
      reason: 'what changes nothing',
    },
    { parts: { context: { namespace: 'default' }, document: { preferences: {} } }, reason: 'what kubectl writes' },
    { parts: { document: { 'current-context': '' } }, reason: 'no current context, where there is only one' },
  ])('is accepted: $reason', ({ parts }) => {
    const read = readClusterKubeconfig(stringify(kubeconfig(parts as Parts)));
    expect(read.token ?? read.clientCertificate).toBeDefined();
    // Writing and reading round-trips.
    expect(readClusterKubeconfig(writeKubeconfig(read))).toEqual(read);
  });

  const two = (list: 'clusters' | 'users' | 'contexts') => ({
    document: { [list]: [...kubeconfig()[list], { name: 'b' }] },
  });
  test.each([
    {
      parts: { user: { exec: { command: 'secret-word' } } },
      field: 'users[0].user.exec',
      reason: 'it would run a program',
    },
    {
      parts: { user: { 'auth-provider': { name: 'gcp' } } },
      field: 'users[0].user.auth-provider',
      reason: 'it would run a program',
    },
    {
      parts: { user: { tokenFile: '/secret-word' } },
      field: 'users[0].user.tokenFile',
      reason: 'it would read a file',
    },
    {
      parts: { user: { 'client-certificate': '/secret-word' } },
      field: 'users[0].user.client-certificate',
      reason: 'it would read a file',
    },
    {
      parts: { user: { 'client-key': '/secret-word' } },
      field: 'users[0].user.client-key',
      reason: 'it would read a file',
    },
    {
      parts: { cluster: { 'certificate-authority': '/secret-word' } },
      field: 'clusters[0].cluster.certificate-authority',
      reason: 'it would read a file',
    },
    {
      parts: { cluster: { 'proxy-url': 'http://secret-word' } },
      field: 'clusters[0].cluster.proxy-url',
      reason: 'it would lead elsewhere',
    },
    {
      parts: { cluster: { 'insecure-skip-tls-verify': true } },
      field: 'clusters[0].cluster.insecure-skip-tls-verify',
      reason: 'anybody could answer',
    },
    {
      parts: { cluster: { server: 'http://api.example.com' } },
      field: 'clusters[0].cluster.server',
      reason: 'anybody could listen',
    },
    {
      parts: { cluster: { server: 'http://127.0.0.1.example.com' } },
      field: 'clusters[0].cluster.server',
      reason: 'only looks like this machine',
    },
    {
      parts: { cluster: { server: 'https://user:secret-word@api.example.com' } },
      field: 'clusters[0].cluster.server',
      reason: 'a password in the address',
    },
    {
      parts: { cluster: { server: 'file:///secret-word' } },
      field: 'clusters[0].cluster.server',
      reason: 'no address of a server',
    },
    { parts: { cluster: { server: 7 } }, field: 'clusters[0].cluster.server', reason: 'no text' },
    {
      parts: { cluster: { 'tls-server-name': 'a b' } },
      field: 'clusters[0].cluster.tls-server-name',
      reason: 'no name of a host',
    },
    {
      parts: { cluster: { 'certificate-authority-data': 'secret-word' } },
      field: 'clusters[0].cluster.certificate-authority-data',
      reason: 'no PEM',
    },
    {
      parts: { cluster: { 'certificate-authority-data': base64('-----BEGIN CERTIFICATE-----\nsecret-word') } },
      field: 'clusters[0].cluster.certificate-authority-data',
      reason: 'no certificate',
    },
    { parts: { user: { token: undefined } }, field: 'users[0].user', reason: 'no credentials at all' },
    { parts: { user: { token: 'two\nlines' } }, field: 'users[0].user.token', reason: 'another header would follow' },
    {
      parts: { user: { 'client-certificate-data': base64(certificate) } },
      field: 'users[0].user.client-key-data',
      reason: 'half a certificate',
    },
    {
      parts: {
        user: {
          'client-certificate-data': base64(certificate),
          'client-key-data': base64(issue().key),
        },
      },
      field: 'users[0].user.client-certificate-data',
      reason: 'the key of another certificate',
    },
    { parts: { user: { username: 'a' } }, field: 'users[0].user.username', reason: 'Kubernetes knows no passwords' },
    { parts: { user: { as: 'root' } }, field: 'users[0].user.as', reason: 'it acts as somebody else' },
    {
      parts: { user: { 'secret-word': 1 } },
      field: 'users[0].user',
      reason: 'a field that nobody knows, whose name may be the secret',
    },
    { parts: { document: { 'secret-word': 1 } }, field: '', reason: 'a field that nobody knows' },
    { parts: two('contexts'), field: 'contexts', reason: 'more than one context' },
    { parts: two('clusters'), field: 'clusters', reason: 'more than one cluster' },
    { parts: two('users'), field: 'users', reason: 'credentials that nobody asked for' },
    { parts: { document: { contexts: [] } }, field: 'contexts', reason: 'no context' },
    { parts: { document: { users: undefined } }, field: 'users', reason: 'no users' },
    {
      parts: { document: { 'current-context': 'other' } },
      field: 'current-context',
      reason: 'a context that is not there',
    },
    { parts: { context: { user: 'other' } }, field: 'contexts[0].context.user', reason: 'a user that is not there' },
    {
      parts: { context: { cluster: 'other' } },
      field: 'contexts[0].context.cluster',
      reason: 'a cluster that is not there',
    },
    { parts: { document: { kind: 'Secret' } }, field: 'kind', reason: 'something else' },
  ])('is rejected by field name, and nothing is quoted: $reason ($field)', ({ parts, field }) => {
    const error = refusalOf(stringify(kubeconfig(parts as Parts)));
    expect(error.code).toBe('cluster/kubeconfig-refused');
    expect(
      error.message.startsWith(field === '' ? 'the kubeconfig' : `${field} of the kubeconfig`),
      error.message,
    ).toBe(true);
    expect(error.message).not.toContain('secret-word');
    expect(error.cause).toBeUndefined();
  });

  test.each([
    { text: '', reason: 'nothing' },
    { text: 'secret-word', reason: 'a word' },
    { text: '- secret-word', reason: 'a list' },
    { text: 'a: [secret-word', reason: 'no YAML' },
    { text: 'a: secret-word\na: secret-word', reason: 'twice the same' },
    { text: 'a: 1\n---\nb: secret-word', reason: 'two documents' },
    { text: 'a: &secret [1]\nb: [*secret, *secret]', reason: 'aliases' },
    { text: 'a: !!js/function "secret-word"', reason: 'a tag' },
    { text: `a: ${'x'.repeat(300_000)}`, reason: 'too long' },
  ])('is rejected if invalid, and nothing is quoted: $reason', ({ text }) => {
    const error = refusalOf(text);
    expect(error.code).toBe('cluster/kubeconfig-refused');
    expect(error.message).not.toMatch(/secret|xxx/);
  });

  test('any input is rejected or accepted, never a crash', () => {
    const anything = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.json(),
      fc.jsonValue({ maxDepth: 3 }).map((value) => stringify(kubeconfig({ user: { exec: value } as object }))),
      fc
        .jsonValue({ maxDepth: 3 })
        .map((value) => JSON.stringify(kubeconfig({ document: { users: value } as object }))),
      fc
        .jsonValue({ maxDepth: 2 })
        .map((value) => JSON.stringify(kubeconfig({ cluster: { server: value } as object }))),
    );
    fc.assert(
      fc.property(anything, (text) => {
        try {
          expect(readClusterKubeconfig(text).server).toMatch(/^https?:/);
        } catch (error) {
          expect(error).toBeInstanceOf(FleetError);
        }
      }),
      { numRuns: 300 },
    );
  });
});

function refusalOf(text: string): FleetError {
  try {
    readClusterKubeconfig(text);
  } catch (error) {
    return error as FleetError;
  }
  throw new Error('it was taken');
}
