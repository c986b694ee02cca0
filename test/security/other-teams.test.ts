/** A developer of one team tries to change, stop or read what belongs to another. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RESOURCE_UID_LABEL } from '../../src/broker/index.ts';
import { declareCost } from '../../src/cli/cost/command.ts';
import { declareGraph } from '../../src/cli/graph/command.ts';
import type { Client, Condition, Resource, UnknownObject } from '../../src/runtime/index.ts';
import { getCondition } from '../../src/runtime/index.ts';
import { events } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import {
  coreSecrets,
  create,
  createTeam,
  isGone,
  patient,
  resourceOf,
  type Thing,
  whenCondition,
  writeStatus,
} from '../platform/support/setup.ts';
import { runCommand } from '../support/check-command.ts';
import { type GuardedPlatform, startGuardedPlatform } from './support/guarded-platform.ts';

let platform: GuardedPlatform;
let admin: Client;
let attacker: Client;
const [victims, attackers] = ['red', 'evil'];
const services = resourceOf('Service');
const pay = { app: 'pay' };

beforeAll(async () => {
  platform = await startGuardedPlatform();
  admin = platform.client;
  attacker = platform.as('eve');
  // The Teams have other names than their namespaces: each field has to mean the right one.
  for (const [namespace, member] of [
    [victims, 'ada'],
    [attackers, 'eve'],
  ] as const) {
    const spec = { namespace, rbac: { members: [member] } };
    await whenCondition(admin, await createTeam(admin, `team-${namespace}`, spec), { status: 'True' });
  }
  await eventually(() => attacker.list(services, { namespace: attackers }), patient);
  await create(admin, service(victims, 'pay-ments', { labels: pay, status: address('red') }));
});
afterAll(() => platform?.stop());

const address = (host: string) => ({ phase: 'ready', outputs: { host } });
const service = (namespace: string, name: string, over: Partial<Thing> = {}): Thing => ({
  kind: 'Service',
  namespace,
  name,
  ...over,
  spec: { owner: { kind: 'Team', name: `team-${namespace}` }, image: 'registry.company.com/app:1', ...over.spec },
});

interface State {
  bindings?: { kind: string; namespace: string; name: string; connectionSecret: string }[];
  conditions?: Condition[];
}
const stateOf = ({ status }: UnknownObject): State => (status ?? {}) as State;
const condition = { type: 'DependenciesBound' };

/** A Service of the victims that runs, with everything that an attack could change. */
async function victim(name: string, serviceSelector: object) {
  const user = await create(admin, service(victims, name, { spec: { dependencies: { serviceSelector } } }));
  await whenCondition(admin, user, { ...condition, status: 'True' });
  await writeStatus(admin, user, { deploymentId: `${user.metadata.uid}/1/1` });
  const state = async () => {
    const now = await admin.get(services, { namespace: victims, name });
    const { bindings = [], conditions } = stateOf(now);
    const copies = await Promise.all(
      bindings.map(({ connectionSecret }) => admin.get(coreSecrets, { namespace: victims, name: connectionSecret })),
    );
    const { reason, status } = getCondition(conditions, condition.type) ?? {};
    return {
      bindings,
      generation: now.metadata.generation,
      copies: copies.map(({ metadata }) => metadata.resourceVersion),
      condition: { reason, status },
      message: getCondition(conditions, condition.type)?.message ?? '',
    };
  };
  return { user, state };
}

/** A Service of the attackers that runs, as their broker would report it. */
async function lure(name: string, labels: Record<string, string>, spec: object = { sharedWith: ['*'] }) {
  const made = await create(attacker, service(attackers, name, { labels, spec }));
  await writeStatus(admin, made, address('evil'));
  return made;
}

/** No reconciler of deployments runs here: its part is to remove the finalizer. */
async function remove(name: string) {
  const key = { namespace: attackers, name };
  await attacker.delete(services, key);
  const kidp = admin.impersonate({ user: 'system:serviceaccount:kidp-system:kidp', groups: ['system:masters'] });
  await kidp.patch(services, key, { type: 'merge', body: { metadata: { finalizers: null } } }).catch(() => {});
  await eventually(() => isGone(admin, services, key), patient);
}

describe('a consumer that named no other team', () => {
  let shop: Awaited<ReturnType<typeof victim>>;
  beforeAll(async () => {
    shop = await victim('shop', { matchLabels: pay });
  });

  test.each<{ reason: string; name: string; sharedWith: string[] }>([
    { reason: 'the same name, shared with every team', name: 'pay-ments', sharedWith: ['*'] },
    { reason: 'a name that folds to the same variable', name: 'pay.ments', sharedWith: ['*'] },
    { reason: 'another name, shared with this team', name: 'second', sharedWith: [victims] },
    { reason: 'both', name: 'third', sharedWith: ['*', victims] },
  ])('is not changed by $reason', async ({ name, sharedWith }) => {
    const before = await shop.state();
    const labels = { ...pay, lure: 'all' };
    await lure(name, labels, { sharedWith });
    // Another consumer names the team: what it binds has been seen by all.
    const witness = await create(admin, {
      ...service(victims, `witness-${name}`),
      spec: { dependencies: { serviceSelector: { matchLabels: { lure: 'all' }, fromTeams: ['team-evil'] } } },
    });
    await whenCondition(admin, witness, { ...condition, status: 'True' });
    expect(await shop.state()).toEqual(before);
    // Its next deployment does not bind it either.
    const body = { spec: { image: `registry.company.com/app:${name}` } };
    const { metadata } = await admin.patch(services, { namespace: victims, name: 'shop' }, { type: 'merge', body });
    const observedGeneration = metadata.generation ?? 0;
    await whenCondition(admin, shop.user, { ...condition, observedGeneration });
    expect(await shop.state()).toEqual({ ...before, generation: observedGeneration });
    expect((await shop.state()).bindings).toMatchObject([{ namespace: victims, name: 'pay-ments' }]);
    await admin.delete(services, { namespace: victims, name: `witness-${name}` });
    await remove(name);
  });

  test('and without a match gets none, and no text of theirs', async () => {
    await lure('free-money', { app: 'nowhere' });
    const dependencies = { serviceSelector: { matchLabels: { app: 'nowhere' } } };
    const user = await create(admin, service(victims, 'lonely', { spec: { dependencies } }));
    const { status } = await whenCondition(admin, user, { ...condition, status: 'False', reason: 'NoMatch' });
    expect(JSON.stringify(status)).toContain('spec.dependencies.serviceSelector.fromTeams');
    expect(JSON.stringify(status)).not.toMatch(/evil|free-money/);
  });
});

describe('a consumer that named the team', () => {
  const selector = { matchLabels: pay, fromTeams: ['team-evil'] };

  test.each<{ reason: string; name: string; expects: string; says: RegExp; status: string; kind: string }>([
    {
      reason: 'the same name',
      name: 'pay-ments',
      expects: 'Some',
      kind: 'VariableConflict',
      status: 'False',
      says: /Service red\/pay-ments and entry host of Service evil\/pay-ments are both the variable SERVICE_PAY_MENTS_HOST/,
    },
    {
      reason: 'a name that folds to the same variable',
      name: 'pay.ments',
      expects: 'Some',
      kind: 'VariableConflict',
      status: 'False',
      says: /Service red\/pay-ments and entry host of Service evil\/pay.ments are both the variable SERVICE_PAY_MENTS_HOST/,
    },
    {
      reason: 'a second match',
      name: 'second',
      expects: 'Some',
      kind: 'MatchesPending',
      status: 'True',
      says: /Service evil\/second will be bound with the next deployment/,
    },
    {
      reason: 'a second match where one is expected',
      name: 'second',
      expects: 'One',
      kind: 'AllBound',
      status: 'True',
      says: /^1 resource is bound$/,
    },
  ])('keeps its binding and its variables: $reason', async ({ name, expects, kind, status, says }) => {
    const user = `opted-${name}-${expects}`.toLowerCase().replace('.', '-dot-');
    const { user: consumer, state } = await victim(user, { ...selector, expect: expects });
    const before = await state();
    await lure(name, pay);
    const witness = await create(admin, {
      ...service(victims, `after-${user}`),
      spec: { dependencies: { serviceSelector: { ...selector, expect: 'Any' } } },
    });
    await whenCondition(admin, witness, condition);
    await whenCondition(admin, consumer, { ...condition, reason: kind, status } as Partial<Condition>);
    const after = await state();
    expect(after.message).toMatch(says);
    expect({ ...after, condition: before.condition, message: before.message }).toEqual(before);
    for (const each of [user, `after-${user}`]) await admin.delete(services, { namespace: victims, name: each });
    await remove(name);
  });
});

describe('a consumer of the attackers', () => {
  beforeAll(async () => {
    const database = await create(admin, {
      kind: 'Database',
      namespace: victims,
      name: 'users',
      labels: pay,
      spec: { owner: { kind: 'Team', name: 'team-red' } },
    });
    const labels = { [RESOURCE_UID_LABEL]: database.metadata.uid ?? '' };
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'users-connection', namespace: victims, labels },
    };
    await admin.create(coreSecrets, secret);
    await writeStatus(admin, database, {
      phase: 'ready',
      connectionSecret: { name: 'users-connection', revision: '1' },
    });
  });

  test.each<{ reason: string; kind: 'Service' | 'Application'; dependencies: object }>([
    {
      reason: 'by labels',
      kind: 'Service',
      dependencies: { databaseSelector: { matchLabels: pay, fromTeams: ['team-red'] } },
    },
    { reason: 'by any label', kind: 'Service', dependencies: { databaseSelector: { fromTeams: ['team-red', 'red'] } } },
    {
      reason: 'through an Application',
      kind: 'Application',
      dependencies: { databaseSelector: { fromTeams: ['team-red'] } },
    },
    {
      reason: 'of a Service',
      kind: 'Service',
      dependencies: { serviceSelector: { matchLabels: pay, fromTeams: ['team-red'] } },
    },
  ])('gets nothing that is not shared with it: $reason', async ({ reason, kind, dependencies }) => {
    const name = `thief-${reason.replaceAll(' ', '-').toLowerCase()}`;
    const { image: _, ...spec } = { image: '', ...service(attackers, name).spec, dependencies };
    const thief = await create(attacker, { kind, namespace: attackers, name, spec });
    const { status } = await whenCondition(admin, thief, { ...condition, status: 'False', reason: 'NoMatch' });
    expect(JSON.stringify(status)).not.toContain('users');
    expect((await admin.list(coreSecrets, { namespace: attackers })).items).toEqual([]);
    await attacker.delete(resourceOf(kind), { namespace: attackers, name });
  });

  test.each<{ reason: string; thing: () => Thing; denied: RegExp }>([
    {
      reason: 'every team at once',
      thing: () => service(attackers, 'x', { spec: { dependencies: { databaseSelector: { fromTeams: ['*'] } } } }),
      denied: /fromTeams/,
    },
    {
      reason: 'an owner of the other team',
      thing: () => service(attackers, 'x', { spec: { owner: { kind: 'Team', name: 'team-red' } } }),
      denied: /owner/,
    },
    {
      reason: 'the label of the other team',
      thing: () => service(attackers, 'x', { labels: { 'platform.company.com/team': victims } }),
      denied: /want "evil"/,
    },
    { reason: 'a Service in the other namespace', thing: () => service(victims, 'x'), denied: /forbidden/i },
  ])('denied: $reason', async ({ thing, denied }) => {
    await expect(create(attacker, thing())).rejects.toThrow(denied);
  });
});

describe('reading what belongs to the other team', () => {
  const reports: Resource = {
    group: 'openreports.io',
    version: 'v1alpha1',
    kind: 'Report',
    plural: 'reports',
    namespaced: true,
  };
  const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };

  test.each<{ reason: string; read: () => Promise<unknown> }>([
    { reason: 'a Service with its bindings', read: () => attacker.get(services, { namespace: victims, name: 'shop' }) },
    {
      reason: 'a status',
      read: async () => {
        const path = `/apis/platform.company.com/v1/namespaces/${victims}/services/shop/status`;
        const { status, text } = await attacker.request({ method: 'GET', path });
        if (status >= 300) throw new Error(text);
      },
    },
    { reason: 'all Services', read: () => attacker.list(services) },
    {
      reason: 'all Databases by labels',
      read: () => attacker.list(resourceOf('Database'), { labelSelector: 'app=pay' }),
    },
    { reason: 'connection Secrets', read: () => attacker.list(coreSecrets, { namespace: victims }) },
    { reason: 'Teams with their costs', read: () => attacker.list(resourceOf('Team')) },
    { reason: 'costs of deleted resources', read: () => attacker.list(configMaps, { namespace: 'kidp-system' }) },
    { reason: 'reports', read: () => attacker.list(reports, { namespace: victims }) },
    { reason: 'events', read: () => attacker.list(events, { namespace: victims }) },
    { reason: 'events of all namespaces', read: () => attacker.list(events) },
  ])('forbidden: $reason', async ({ read }) => {
    await expect(read()).rejects.toThrow(/forbidden/);
  });

  test.each([
    { reason: 'kidp graph', declare: declareGraph, flags: ['--team', 'team-red'] },
    { reason: 'kidp cost', declare: declareCost, flags: ['--team', 'team-red'] },
  ])('$reason prints nothing', async ({ declare, flags }) => {
    const kubeconfig = await platform.plane.kubeconfigFor({ name: 'eve' });
    const { code, out, err } = await runCommand(declare, ['--kubeconfig', kubeconfig, ...flags], {});
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/forbidden/);
  });
});
