/** The types are what the schemas say: checked by the compiler, so a mistake here fails `npm run typecheck`. */
import { expectTypeOf, test } from 'vitest';
import type { Condition, KubernetesObject } from '../runtime/index.ts';
import type {
  Application,
  Broker,
  Database,
  database,
  ManifestOf,
  Policy,
  PolicyException,
  Service,
  Team,
  Topic,
} from './index.ts';

test('an object of a kind is a Kubernetes object of exactly that kind', () => {
  expectTypeOf<Database>().toExtend<KubernetesObject>();
  expectTypeOf<Database['apiVersion']>().toEqualTypeOf<'platform.company.com/v1'>();
  expectTypeOf<Database['kind']>().toEqualTypeOf<'Database'>();
  expectTypeOf<Database>().not.toExtend<Topic>();
});

test('conditions as stored are what the runtime calls conditions', () => {
  type Conditions = NonNullable<NonNullable<Database['status']>['conditions']>;
  expectTypeOf<Conditions>().toExtend<Condition[]>();
  expectTypeOf<Condition[]>().toExtend<Conditions>();
});

test('the owner may be absent, and is a Team or an Application', () => {
  type Owner = { kind: 'Team' | 'Application'; name: string; namespace?: string };
  expectTypeOf<Database['spec']['owner']>().toEqualTypeOf<Owner | undefined>();
  expectTypeOf<Application['spec']['owner']>().toEqualTypeOf<Owner | undefined>();
  expectTypeOf<NonNullable<Database['status']>['owner']>().toEqualTypeOf<Owner | undefined>();
});

test('a defaulted field is there when read and may be left out when written', () => {
  type Engine = 'postgresql' | 'mysql' | 'mariadb' | 'sqlserver' | 'mongodb';
  expectTypeOf<Database['spec']['engine']>().toEqualTypeOf<Engine>();
  expectTypeOf<ManifestOf<typeof database>['spec']['engine']>().toEqualTypeOf<Engine | undefined>();
  expectTypeOf<Broker['spec']['heartbeat']>().toEqualTypeOf<{ intervalSeconds: number; timeoutSeconds: number }>();
});

test('what a policy demands is not assumed to be there', () => {
  expectTypeOf<Database['spec']['backup']>().toEqualTypeOf<
    { enabled?: boolean; schedule?: string; retentionDays?: number } | undefined
  >();
});

test('required fields are there', () => {
  expectTypeOf<Team['spec']['namespace']>().toEqualTypeOf<string>();
  expectTypeOf<PolicyException['spec']['policies']>().toEqualTypeOf<{ name: string; rules?: string[] }[]>();
  expectTypeOf<Policy['spec']['selector']['resourceTypes']>().toEqualTypeOf<string[]>();
});

test('maps and numbers-or-strings', () => {
  expectTypeOf<Topic['spec']['config']>().toEqualTypeOf<Record<string, number | string> | undefined>();
  expectTypeOf<Service['spec']['replicas']>().toEqualTypeOf<number>();
});
