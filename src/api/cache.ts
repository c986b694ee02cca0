/** Cache: a Redis or Memcached instance. */
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

const spec = deployableSpec('The cache to have.', {
  engine: choice('The engine. It never changes.', ['redis', 'memcached', 'valkey']).default('redis'),
  version: text('The version of the engine, for example `"7.2"`. Left out, the broker takes its newest.', {
    maxLength: 32,
    pattern: '^[0-9]{1,9}(\\.[0-9]{1,9}){0,3}$',
  }).optional(),
  size: size(
    'How big it is: a class of the platform (`small`, `medium`, `large`, `xlarge`) or an exact amount of memory such as `2Gi`. Left out, the broker takes its smallest.',
  ).optional(),
  eviction: choice(
    'What to give up when memory is full, in the words of Redis. Memcached knows only `allkeys-lru` and `noeviction`.',
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
}).rules(immutable('engine', 'spec.engine is fixed at creation: create another Cache'), {
  rule: "self.engine != 'memcached' || self.eviction in ['allkeys-lru', 'noeviction']",
  message: 'memcached knows only the evictions allkeys-lru and noeviction: choose one of them, or another engine',
  fieldPath: '.eviction',
});

const status = object('What the platform and the broker have made of it.', deployableStatusFields);

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
    { name: 'Engine', type: 'string', jsonPath: '.spec.engine', description: 'The engine.' },
    { name: 'Size', type: 'string', jsonPath: '.spec.size', description: 'How big it is.', priority: 1 },
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
