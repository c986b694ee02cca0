/** Maps a Cache to a Secret with address and password, a core Service and a StatefulSet. A cache has no persistent storage. */
import type { Cache } from '../../../api/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';
import { generateValue } from './credentials.ts';
import { shell } from './database.ts';
import type { ManifestContext } from './manifests.ts';
import { bounded, namespaceOf } from './names.ts';
import type { Manifest } from './resources.ts';
import { type SingleServer, singleServer } from './single-server.ts';
import { cacheBytes, mebibytes } from './sizes.ts';

type Spec = Cache['spec'];

interface CacheEngine {
  readonly image: string;
  readonly version: string;
  readonly port: number;
  /** The user ID that the image can run as. */
  readonly user: number;
  readonly scheme: string;
  readonly password: boolean;
  readonly start: (maximumBytes: number, eviction: string) => string;
  readonly probe: string;
}

const redisFlags = (maximumBytes: number, eviction: string): string =>
  `--save "" --appendonly no --requirepass "$PASSWORD" --maxmemory ${maximumBytes} --maxmemory-policy ${eviction}`;

const engines: Readonly<Record<string, CacheEngine>> = {
  redis: {
    image: 'redis',
    version: '7.4',
    port: 6379,
    user: 999,
    scheme: 'redis',
    password: true,
    start: (maximumBytes, eviction) => `exec redis-server ${redisFlags(maximumBytes, eviction)}`,
    probe: 'REDISCLI_AUTH="$PASSWORD" redis-cli ping | grep -q PONG',
  },
  valkey: {
    image: 'valkey/valkey',
    version: '8.0',
    port: 6379,
    user: 999,
    scheme: 'redis',
    password: true,
    start: (maximumBytes, eviction) => `exec valkey-server ${redisFlags(maximumBytes, eviction)}`,
    probe: 'VALKEYCLI_AUTH="$PASSWORD" valkey-cli ping | grep -q PONG',
  },
  memcached: {
    image: 'memcached',
    version: '1.6',
    port: 11211,
    user: 11211,
    scheme: 'memcached',
    // Few clients support SASL: use network policies to restrict access.
    password: false,
    start: (maximumBytes, eviction) =>
      `exec memcached -m ${Math.floor(maximumBytes / 2 ** 20)}${eviction === 'noeviction' ? ' -M' : ''}`,
    probe: '',
  },
};

const component = 'cache';

export const cacheCapabilities: readonly string[] = Object.keys(engines).map((engine) => `Cache/${engine}`);
export const cacheName = (request: DeploymentRequest): string => bounded(`${request.resource.name}-cache`, 52);
export const cacheSecretName = (request: DeploymentRequest): string => `${cacheName(request)}-credentials`;

export function cacheValues(
  request: DeploymentRequest,
  previous: Readonly<Record<string, string>>,
  renew: boolean,
): Record<string, string> {
  const engine = engineOf(request.spec as Spec);
  const host = `${cacheName(request)}.${namespaceOf(request)}.svc`;
  const address = { type: engine.scheme, host, port: String(engine.port) };
  if (!engine.password) return { ...address, uri: `${engine.scheme}://${host}:${engine.port}` };
  const password = renew || previous.password === undefined ? generateValue(32) : previous.password;
  return { ...address, password, uri: `${engine.scheme}://:${password}@${host}:${engine.port}` };
}

export function cacheManifests(request: DeploymentRequest, context: ManifestContext): Manifest[] {
  const spec = request.spec as Spec;
  const engine = engineOf(spec);
  return singleServer(request, serverOf(request, spec, engine, context), context);
}

function serverOf(
  request: DeploymentRequest,
  spec: Spec,
  engine: CacheEngine,
  { images }: ManifestContext,
): SingleServer {
  const maximumBytes = cacheBytes(spec.size);
  // The server needs memory in addition to the cached data.
  const memory = mebibytes(maximumBytes * 1.25 + 64 * 2 ** 20);
  const secretKeyRef = { name: cacheSecretName(request), key: 'password' };
  return {
    name: cacheName(request),
    secretName: cacheSecretName(request),
    component,
    port: engine.port,
    user: engine.user,
    container: {
      image: images[spec.engine ?? 'redis'] ?? `${engine.image}:${spec.version ?? engine.version}`,
      command: shell(engine.start(maximumBytes, spec.eviction ?? 'allkeys-lru')),
      ...(engine.password ? { env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef } }] } : {}),
      resources: { requests: { cpu: '100m', memory }, limits: { memory } },
      readinessProbe: {
        ...(engine.probe === '' ? { tcpSocket: { port: engine.port } } : { exec: { command: shell(engine.probe) } }),
        periodSeconds: 5,
        timeoutSeconds: 5,
      },
    },
  };
}

function engineOf(spec: Spec): CacheEngine {
  const engine = engines[spec.engine ?? 'redis'];
  if (engine !== undefined) return engine;
  throw permanent(
    'unsupported-engine',
    `this broker does not support the engine ${spec.engine}: use ${Object.keys(engines).join(', ')}, or a target whose broker supports it`,
  );
}
