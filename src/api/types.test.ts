/** Checks that the types match the schemas. The compiler evaluates them, so a mistake fails `npm run typecheck`. */
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

test('stored conditions are conditions of the runtime', () => {
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

test('a defaulted field is present when read and optional when written', () => {
  type Engine = 'postgresql' | 'mysql' | 'mariadb' | 'sqlserver' | 'mongodb';
  expectTypeOf<Database['spec']['engine']>().toEqualTypeOf<Engine>();
  expectTypeOf<ManifestOf<typeof database>['spec']['engine']>().toEqualTypeOf<Engine | undefined>();
  expectTypeOf<Broker['spec']['heartbeat']>().toEqualTypeOf<{ intervalSeconds: number; timeoutSeconds: number }>();
});

test('a field that a policy requires is optional in the type', () => {
  expectTypeOf<Database['spec']['backup']>().toEqualTypeOf<
    { enabled?: boolean; schedule?: string; retentionDays?: number } | undefined
  >();
});

test('required fields are present', () => {
  expectTypeOf<Team['spec']['namespace']>().toEqualTypeOf<string>();
  expectTypeOf<PolicyException['spec']['policies']>().toEqualTypeOf<{ name: string; rules?: string[] }[]>();
  expectTypeOf<Policy['spec']['selector']['resourceTypes']>().toEqualTypeOf<string[]>();
});

test('maps and numbers-or-strings', () => {
  expectTypeOf<Topic['spec']['config']>().toEqualTypeOf<Record<string, number | string> | undefined>();
  expectTypeOf<Service['spec']['replicas']>().toEqualTypeOf<number>();
});
