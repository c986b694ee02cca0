import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { FleetError } from '../../../src/fleet/contract.ts';
import { readClusterKubeconfig, writeKubeconfig } from '../../../src/fleet/kubeconfig/index.ts';
import { ConfigError, loadKubeconfig } from '../../../src/runtime/index.ts';
import { isLoopback } from '../../../src/runtime/internal.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

/** Stands for every secret: it must not be in a message. */
const secret = 'S3CRET-VALUE';

const kubeconfig = (user: object, cluster: object = {}, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server: 'https://api.example.com:6443', ...cluster } }],
  users: [{ name: 'u', user }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'n' } }],
  'current-context': 'x',
  ...more,
});

let file: string | undefined;

export const target: Target = {
  about: 'Kubeconfigs: that of a Cluster, read strictly, and that of the user',
  modules: ['src/fleet/kubeconfig/', 'src/runtime/kubeconfig/'],
  words: [
    'exec',
    'auth-provider',
    'command',
    'token',
    'tokenFile',
    'client-key',
    'client-certificate-data',
    'insecure-skip-tls-verify',
    'proxy-url',
    'tls-server-name',
    'as',
    'as-groups',
    'as-user-extra',
    'http://',
    'https://[::1]',
    'file:///',
    '__proto__',
    '/dev/null',
    '&a ',
    '*a',
    '<<',
    '---\n',
    '!!js',
  ],
  isJson: true,
  seeds: () => [
    JSON.stringify(kubeconfig({ token: secret })),
    stringify(kubeconfig({ token: secret })),
    JSON.stringify(
      kubeconfig({
        'client-certificate-data': 'LS0tLS1CRUdJTiBYLS0tLS0=',
        'client-key-data': 'LS0tLS1CRUdJTiBYLS0tLS0=',
      }),
    ),
    JSON.stringify(kubeconfig({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: secret, args: [] } })),
    JSON.stringify(
      kubeconfig({ username: 'u', password: secret, as: 'boss', 'as-groups': ['g'], 'as-user-extra': { a: ['b'] } }),
    ),
    JSON.stringify(
      kubeconfig({ tokenFile: '/dev/null' }, { 'certificate-authority': '/dev/null', 'proxy-url': 'http://p' }),
    ),
    JSON.stringify(
      kubeconfig(
        { token: secret },
        { server: 'http://127.0.0.1:1', 'tls-server-name': 'a.b' },
        { preferences: {}, extensions: [] },
      ),
    ),
  ],
  run(input) {
    const text = input.toString('utf8');
    readStrictly(text);
    file ??= join(mkdtempSync(join(tmpdir(), 'kidp-fuzz-')), 'config');
    writeFileSync(file, input);
    try {
      const { server } = loadKubeconfig({ file });
      ensure(/^https?:/.test(server), 'a server has an http address', () => server);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      ensure(error.message !== '', 'a refusal has a message');
    }
  },
};

function readStrictly(text: string): void {
  try {
    const config = readClusterKubeconfig(text);
    const { protocol, hostname } = new URL(config.server);
    ensure(
      protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)),
      'a cluster is reached over TLS',
      () => config.server,
    );
    const materials = [config.token, config.certificateAuthority, config.clientCertificate, config.clientKey];
    ensure(
      materials.every((each) => each === undefined || 'data' in each),
      'no file of the platform is named',
    );
    const others = [
      config.authenticator,
      config.proxyUrl,
      config.impersonation,
      config.basic,
      config.insecureSkipTlsVerify,
    ];
    ensure(
      others.every((each) => each === undefined),
      'no program, proxy or other user is named',
    );
    ensure(
      isDeepStrictEqual(readClusterKubeconfig(writeKubeconfig(config)), config),
      'what is written is read as it was',
    );
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    ensure(!error.message.includes(secret), 'a refusal quotes no secret', () => error.message);
    ensure(error.message.length < 1_000, 'a refusal is short, whatever was sent');
  }
}
