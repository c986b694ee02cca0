/** The Cache kind: a managed Redis, Valkey or Memcached instance. */
import {
  connectionSecret,
  deployableColumns,
  deployableSpec,
  deployableStatusFields,
  size,
  unobserved,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { choice, immutable, object, text } from './schema/index.ts';

const spec = deployableSpec('Desired state of the cache.', {
  engine: choice('Engine of the cache. Immutable.', ['redis', 'memcached', 'valkey']).default('redis'),
  version: text('Version of the engine, for example `"7.2"`. Defaults to the newest version that the broker offers.', {
    maxLength: 32,
    pattern: '^[0-9]{1,9}(\\.[0-9]{1,9}){0,3}$',
  }).optional(),
  size: size(
    'Size: a platform size class (`small`, `medium`, `large`, `xlarge`) or an amount of memory such as `2Gi`. Defaults to the smallest size that the broker offers.',
  ).optional(),
  eviction: choice(
    'Eviction policy when memory is full, as named by Redis. Memcached supports only `allkeys-lru` and `noeviction`.',
    [
      'noeviction',
      'allkeys-lru',
      'allkeys-lfu',
      'allkeys-random',
      'volatile-lru',
      'volatile-lfu',
      'volatile-random',
      'volatile-ttl',
    ],
  ).default('allkeys-lru'),
  connectionSecret: connectionSecret.optional(),
}).rules(immutable('engine', 'spec.engine cannot be changed after creation: create another Cache'), {
  rule: "self.engine != 'memcached' || self.eviction in ['allkeys-lru', 'noeviction']",
  message:
    'memcached supports only the eviction policies allkeys-lru and noeviction: choose one of them, or another engine',
  fieldPath: '.eviction',
});

const status = object('Observed state of the cache.', deployableStatusFields);

export const cache = defineKind({
  kind: 'Cache',
  plural: 'caches',
  singular: 'cache',
  shortName: 'kcache',
  scope: 'Namespaced',
  deployable: true,
  description: 'A Cache is a Redis, Valkey or Memcached instance with a size and an eviction policy.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    { name: 'Engine', type: 'string', jsonPath: '.spec.engine', description: 'Engine of the cache.' },
    { name: 'Size', type: 'string', jsonPath: '.spec.size', description: 'Size of the cache.', priority: 1 },
    ...deployableColumns,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Cache
metadata:
  name: sessions
  namespace: team-backend
spec:
  owner:
    kind: Application
    name: user-service
    namespace: team-backend
  targetRef: {name: azure-westus2-prod}
  engine: redis
  size: 2Gi
  eviction: volatile-lru
`,
});

export type Cache = ObjectOf<typeof cache>;
