import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../errors.ts';
import { loadKubeconfig } from './kubeconfig.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-kubeconfig-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, content: string): string {
  const file = join(directory, name);
  writeFileSync(file, content);
  return file;
}

function kubeconfig(parts: { cluster?: object; user?: object; context?: object; current?: string } = {}): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://example.com:6443', ...parts.cluster } }],
    users: [{ name: 'u', user: parts.user ?? {} }],
    contexts: [
      { name: 'dev', context: { cluster: 'c', user: 'u', ...parts.context } },
      { name: 'prod', context: { cluster: 'c', user: 'u' } },
    ],
    'current-context': parts.current ?? 'dev',
  });
}

describe('a kubeconfig that cannot be used', () => {
  const cases: { reason: string; content: string | undefined; context?: string; code: string; says: RegExp }[] = [
    { reason: 'no such file', content: undefined, code: 'missing-file', says: /no kubeconfig at .*config/ },
    { reason: 'an empty file', content: '', code: 'empty', says: /is empty/ },
    {
      reason: 'not YAML: the place is named',
      content: 'clusters:\n  - name: c\n   cluster: {\n',
      code: 'unparsable',
      says: /line \d+, column \d+/,
    },
    { reason: 'an alias that leads nowhere', content: 'clusters: *nowhere', code: 'unparsable', says: /nowhere/ },
    { reason: 'a list', content: '- 1', code: 'not-a-kubeconfig', says: /not a map/ },
    {
      reason: 'clusters is no list',
      content: 'clusters: 3',
      code: 'not-a-kubeconfig',
      says: /"clusters" is not a list/,
    },
    {
      reason: 'an entry without a name',
      content: 'users: [{user: {}}]',
      code: 'not-a-kubeconfig',
      says: /without a name/,
    },
    { reason: 'no context at all', content: 'clusters: []', code: 'no-context', says: /no contexts/ },
    {
      reason: 'another context: the names there are',
      content: kubeconfig(),
      context: 'staging',
      code: 'no-such-context',
      says: /"staging".*"dev" or "prod"/,
    },
    {
      reason: 'a context of a cluster that is not there',
      content: kubeconfig({ context: { cluster: 'elsewhere' } }),
      code: 'no-such-cluster',
      says: /"elsewhere".*Use "c"/,
    },
    {
      reason: 'a context of a user who is not there',
      content: kubeconfig({ context: { user: 'nobody' } }),
      code: 'no-such-user',
      says: /"nobody".*Use "u"/,
    },
    {
      reason: 'no server',
      content: kubeconfig({ cluster: { server: '' } }),
      code: 'no-server',
      says: /no server address/,
    },
    {
      reason: 'a server that is no URL',
      content: kubeconfig({ cluster: { server: 'example.com:6443' } }),
      code: 'no-server',
      says: /not an http\(s\) URL/,
    },
    {
      reason: 'a CA file that is not there',
      content: kubeconfig({ cluster: { 'certificate-authority': 'ca.crt' } }),
      code: 'missing-file',
      says: /certificate-authority of "c".*ca\.crt, which does not exist/,
    },
    {
      reason: 'a certificate without its key',
      content: kubeconfig({ user: { 'client-certificate-data': 'eA==' } }),
      code: 'half-a-certificate',
      says: /certificate but no key/,
    },
    {
      reason: 'a token file that is not there',
      content: kubeconfig({ user: { tokenFile: '/nowhere/token' } }),
      code: 'missing-file',
      says: /\/nowhere\/token/,
    },
  ];
  for (const { reason, content, context, code, says } of cases) {
    it(reason, () => {
      const file = content === undefined ? join(directory, 'config') : write('config', content);
      const error = caught(() => loadKubeconfig({ file, ...(context === undefined ? {} : { context }) }));
      expect(error).toBeInstanceOf(ConfigError);
      expect(error).toMatchObject({ code: `config/${code}`, hint: expect.stringMatching(/\w/) });
      expect((error as ConfigError).message).toMatch(says);
      expect((error as ConfigError).message).not.toContain('\n');
    });
  }

  it('a directory', () => {
    expect(caught(() => loadKubeconfig({ file: directory }))).toMatchObject({ code: 'config/unreadable' });
  });

  it('nothing configured anywhere', () => {
    const error = caught(() =>
      loadKubeconfig({ environment: { HOME: directory }, serviceAccountDirectory: directory }),
    );
    expect(error).toMatchObject({ code: 'config/no-kubeconfig' });
  });

  it('a pod without a token, and no pod at all', () => {
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };
    const serviceAccountDirectory = directory;
    expect(caught(() => loadKubeconfig({ inCluster: true, environment: pod, serviceAccountDirectory }))).toMatchObject({
      code: 'config/no-service-account',
    });
    expect(caught(() => loadKubeconfig({ inCluster: true, environment: {} }))).toMatchObject({
      code: 'config/not-in-cluster',
    });
  });
});

describe('what a kubeconfig says', () => {
  it('credentials in it and in files beside it', () => {
    write('ca.crt', 'AUTHORITY');
    write('token', 'secret');
    const file = write(
      'config',
      kubeconfig({
        cluster: {
          'certificate-authority': 'ca.crt',
          'tls-server-name': 'kubernetes',
          'insecure-skip-tls-verify': true,
        },
        user: {
          'client-certificate-data': Buffer.from('CERTIFICATE').toString('base64'),
          'client-key-data': Buffer.from('KEY').toString('base64'),
          tokenFile: 'token',
          token: 'the file wins',
          as: 'boss',
          'as-groups': ['chiefs'],
        },
        context: { namespace: 'team' },
      }),
    );
    expect(loadKubeconfig({ file })).toMatchObject({
      server: 'https://example.com:6443',
      namespace: 'team',
      certificateAuthority: { file: join(directory, 'ca.crt') },
      clientCertificate: { data: 'CERTIFICATE' },
      clientKey: { data: 'KEY' },
      token: { file: join(directory, 'token') },
      impersonation: { user: 'boss', groups: ['chiefs'] },
      tlsServerName: 'kubernetes',
      insecureSkipTlsVerify: true,
      source: `context "dev" of ${file}`,
    });
  });

  it('of several files in KUBECONFIG the first that names something wins, and one may be missing', () => {
    const first = write(
      'first',
      JSON.stringify({ 'current-context': 'prod', users: [{ name: 'u', user: { token: 'mine' } }] }),
    );
    const second = write('second', kubeconfig({ user: { token: 'theirs' } }));
    const environment = { KUBECONFIG: [join(directory, 'missing'), first, second].join(':') };
    expect(loadKubeconfig({ environment })).toMatchObject({
      token: { data: 'mine' },
      source: expect.stringContaining('prod'),
    });
  });

  it('in a pod the service account is taken before a file at home', () => {
    mkdirSync(join(directory, '.kube'));
    write('.kube/config', kubeconfig());
    for (const [name, content] of Object.entries({ token: 't', 'ca.crt': 'A', namespace: 'home\n' }))
      write(name, content);
    const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443', HOME: directory };
    expect(loadKubeconfig({ environment, serviceAccountDirectory: directory })).toMatchObject({
      server: 'https://[fd00::1]:6443',
      namespace: 'home',
      token: { file: join(directory, 'token') },
      certificateAuthority: { file: join(directory, 'ca.crt') },
    });
  });

  it('asks an exec plugin, once while its answer is good, and again when that is refused', async () => {
    const counter = join(directory, 'asked');
    const script = `printf x >> ${counter}; printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'`;
    const file = write(
      'config',
      kubeconfig({
        user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] } },
      }),
    );
    const { authenticator } = loadKubeconfig({ file });
    expect(await authenticator?.(false)).toEqual({ token: 'from-plugin' });
    await authenticator?.(false);
    expect(readLength(counter)).toBe(1);
    await authenticator?.(true);
    expect(readLength(counter)).toBe(2);
  });

  it('names an exec plugin that fails, and its last words', async () => {
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', 'echo please log in >&2; exit 3'],
    };
    const { authenticator } = loadKubeconfig({ file: write('config', kubeconfig({ user: { exec } })) });
    await expect(authenticator?.(false)).rejects.toMatchObject({
      code: 'config/authentication-plugin',
      message: expect.stringContaining('please log in'),
    });
  });
});

function caught(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

function readLength(file: string): number {
  return readFileSync(file, 'utf8').length;
}
