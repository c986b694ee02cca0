/** Relationships on a real API server: bind, rotate, unbind; and that one team never gets the credentials of another. */
import { beforeAll, describe, expect, test } from 'vitest';
import { RESOURCE_UID_LABEL } from '../../../src/broker/index.ts';
import {
  type Client,
  type Condition,
  getCondition,
  type KubernetesObject,
  type UnknownObject,
} from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import {
  coreSecrets,
  create,
  createTeam,
  eventsOf,
  isGone,
  patient,
  type RunningPlatform,
  resourceOf,
  whenCondition,
  writeStatus,
} from './setup.ts';

export function bindingTests(running: () => RunningPlatform): void {
  describe('relationships', () => {
    let platform: RunningPlatform;
    let client: Client;
    beforeAll(async () => {
      platform = running();
      ({ client } = platform);
      for (const name of ['red', 'blue'])
        await whenCondition(client, await createTeam(client, name), { status: 'True' });
    });

    const bound = (over: Partial<Condition> = {}) => ({ type: 'DependenciesBound', ...over });
    const text = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString();

    interface Bound {
      kind: string;
      namespace: string;
      name: string;
      connectionSecret: string;
      revision: string;
    }
    const bindingsOf = (object: UnknownObject): Bound[] => (object.status as { bindings?: Bound[] }).bindings ?? [];

    /** A resource that is ready, with credentials, as its reconciler and broker would leave it. */
    async function ready(
      kind: string,
      namespace: string,
      name: string,
      labels: Record<string, string>,
      spec: object = {},
    ) {
      const object = await create(client, { kind, namespace, name, labels, spec });
      await rotate(object, 'first');
      return object;
    }

    async function rotate(object: KubernetesObject, revision: string): Promise<void> {
      const { name, namespace = '' } = object.metadata;
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: `${name}-connection`,
          namespace,
          labels: { [RESOURCE_UID_LABEL]: object.metadata.uid ?? '' },
        },
        data: { password: Buffer.from(`${name} ${revision}`).toString('base64') },
      } as UnknownObject;
      await client.apply(coreSecrets, secret, { fieldManager: 'test', force: true });
      await writeStatus(client, object, { phase: 'ready', connectionSecret: { name: `${name}-connection`, revision } });
    }

    const uses = (kind: string, namespace: string, name: string, dependencies: object) =>
      create(client, { kind, namespace, name, spec: { dependencies } });

    const passwordFor = async (namespace: string, { connectionSecret }: Bound) =>
      text(
        (
          await client.get<UnknownObject & { data?: Record<string, string> }>(coreSecrets, {
            namespace,
            name: connectionSecret,
          })
        ).data?.password,
      );

    test('bind, rotate, unbind', async () => {
      const labels = { app: 'lifecycle' };
      const user = await uses('Service', 'red', 'api', { databaseSelector: { matchLabels: labels } });
      const nothing = await whenCondition(client, user, bound({ status: 'False', reason: 'NoMatch' }));
      expect(JSON.stringify(nothing.status)).toContain('databaseSelector matches no Database of this team');

      const database = await create(client, { kind: 'Database', namespace: 'red', name: 'users', labels });
      await whenCondition(client, user, bound({ status: 'False', reason: 'DependencyNotReady' }));
      await rotate(database, 'first');
      const first = await whenCondition(client, user, bound({ status: 'True', reason: 'AllBound' }));
      const [binding] = bindingsOf(first);
      expect(binding).toMatchObject({ kind: 'Database', namespace: 'red', name: 'users', revision: 'first' });
      if (binding === undefined) throw new Error('it is bound');
      expect(await passwordFor('red', binding)).toBe('users first');
      const copy = await client.get(coreSecrets, { namespace: 'red', name: binding.connectionSecret });
      expect(copy.metadata.ownerReferences).toMatchObject([{ kind: 'Service', name: 'api', controller: true }]);

      await rotate(database, 'second');
      await eventually(async () => {
        const [now] = bindingsOf(await client.get(resourceOf('Service'), { namespace: 'red', name: 'api' }));
        expect(now).toEqual({ ...binding, revision: 'second' });
        expect(await passwordFor('red', binding)).toBe('users second');
      }, patient);

      // By hand: put right.
      const data = { password: Buffer.from('guess').toString('base64'), extra: '' };
      await client.patch(
        coreSecrets,
        { namespace: 'red', name: binding.connectionSecret },
        { type: 'merge', body: { data } },
      );
      await eventually(async () => expect(await passwordFor('red', binding)).toBe('users second'), patient);
      await client.delete(coreSecrets, { namespace: 'red', name: binding.connectionSecret });
      await eventually(async () => expect(await passwordFor('red', binding)).toBe('users second'), patient);

      await client.delete(resourceOf('Database'), { namespace: 'red', name: 'users' });
      const lost = await whenCondition(client, user, bound({ status: 'False', reason: 'BindingLost' }));
      expect(bindingsOf(lost)).toEqual([]);
      await eventually(
        () => isGone(client, coreSecrets, { namespace: 'red', name: binding.connectionSecret }),
        patient,
      );
      await eventually(async () => (await eventsOf(client, 'api')).includes('BindingLost'), patient);

      // Who asks for nothing any more hears of nothing any more.
      const body = { spec: { dependencies: null } };
      await client.patch(resourceOf('Service'), { namespace: 'red', name: 'api' }, { type: 'merge', body });
      await eventually(async () => {
        const { status } = await client.get(resourceOf('Service'), { namespace: 'red', name: 'api' });
        expect(JSON.stringify(status ?? {})).not.toContain('DependenciesBound');
      }, patient);
    });

    test('exactly one: two are ambiguous, an existing binding is kept, and another label selects one', async () => {
      const labels = { app: 'one-of' };
      await ready('Topic', 'red', 'orders', labels);
      const dependencies = { topicSelector: { matchLabels: labels, expect: 'One' } };
      const user = await uses('Application', 'red', 'one-of', dependencies);
      const before = bindingsOf(await whenCondition(client, user, bound({ status: 'True' })));
      await ready('Topic', 'red', 'returns', labels);
      const ambiguous = await whenCondition(client, user, bound({ status: 'False', reason: 'AmbiguousSelector' }));
      expect(JSON.stringify(ambiguous.status)).toContain(
        'matches 2 (Topic red/orders, Topic red/returns): add a label',
      );
      expect(bindingsOf(ambiguous)).toEqual(before);
      await client.patch(
        resourceOf('Topic'),
        { namespace: 'red', name: 'returns' },
        { type: 'merge', body: { metadata: { labels: null } } },
      );
      await whenCondition(client, user, bound({ status: 'True', reason: 'AllBound' }));
    });

    test('a Service has no credentials: its address is handed on', async () => {
      const labels = { app: 'address' };
      const status = { phase: 'ready', outputs: { host: 'web.red.svc' }, url: 'https://web.company.com' };
      await create(client, { kind: 'Service', namespace: 'red', name: 'web', labels, status });
      const user = await uses('Service', 'red', 'caller', { serviceSelector: { matchLabels: labels } });
      const [binding] = bindingsOf(await whenCondition(client, user, bound({ status: 'True' })));
      const { data } = await client.get<UnknownObject & { data?: Record<string, string> }>(coreSecrets, {
        namespace: 'red',
        name: binding?.connectionSecret ?? '',
      });
      expect(
        Object.entries(data ?? {})
          .map(([key, value]) => [key, text(value)])
          .sort(),
      ).toEqual([
        ['host', 'web.red.svc'],
        ['url', 'https://web.company.com'],
      ]);
    });

    describe('between teams', () => {
      const labels = { app: 'shared' };
      const selector = { databaseSelector: { matchLabels: labels } };

      test('nothing is found that is not shared, whatever label of a team an object claims', async () => {
        await ready('Database', 'red', 'private', labels);
        const forged = { 'platform.company.com/team': 'red', ...labels };
        const thief = await create(client, {
          kind: 'Service',
          namespace: 'blue',
          name: 'thief',
          labels: forged,
          spec: { dependencies: selector, owner: { kind: 'Team', name: 'red' } },
        });
        await whenCondition(client, thief, bound({ status: 'False', reason: 'NoMatch' }));
        const { items } = await client.list(coreSecrets, { namespace: 'blue' });
        expect(items.filter(({ metadata }) => metadata.name.includes('thief'))).toEqual([]);
      });

      const selectFrom = (name: string, fromTeams: string[] | null) =>
        client.patch(
          resourceOf('Service'),
          { namespace: 'blue', name },
          { type: 'merge', body: { spec: { dependencies: { databaseSelector: { fromTeams } } } } },
        );

      test('a consumer that no longer names the team loses the binding, and is shown the field to set', async () => {
        await ready('Database', 'red', 'former', { app: 'former' }, { sharedWith: ['*'] });
        const user = await uses('Service', 'blue', 'former', {
          databaseSelector: { matchLabels: { app: 'former' }, fromTeams: ['red'] },
        });
        await whenCondition(client, user, bound({ status: 'True' }));
        await selectFrom('former', null);
        const lost = await whenCondition(client, user, bound({ status: 'False', reason: 'BindingLost' }));
        expect(JSON.stringify(lost.status)).toContain(
          'Database red/former of Team red is shared, but not selected: name the team in spec.dependencies.databaseSelector.fromTeams',
        );
      });

      test('what is shared and asked for is found, and lost when it is no longer shared', async () => {
        const database = await ready('Database', 'red', 'common', labels, { sharedWith: ['blue'] });
        const user = await uses('Service', 'blue', 'friend', selector);
        const without = await whenCondition(client, user, bound({ status: 'False', reason: 'NoMatch' }));
        expect(JSON.stringify(without.status)).toContain('spec.dependencies.databaseSelector.fromTeams');
        await selectFrom('friend', ['red']);
        const [binding] = bindingsOf(await whenCondition(client, user, bound({ status: 'True' })));
        expect(binding).toMatchObject({ namespace: 'red', name: 'common' });
        if (binding === undefined) throw new Error('it is bound');
        expect(await passwordFor('blue', binding)).toBe('common first');
        await rotate(database, 'second');
        await eventually(async () => expect(await passwordFor('blue', binding)).toBe('common second'), patient);
        await client.patch(
          resourceOf('Database'),
          { namespace: 'red', name: 'common' },
          { type: 'merge', body: { spec: { sharedWith: null } } },
        );
        await whenCondition(client, user, bound({ status: 'False', reason: 'BindingLost' }));
        await eventually(
          () => isGone(client, coreSecrets, { namespace: 'blue', name: binding.connectionSecret }),
          patient,
        );
      });

      test('with every team means teams: a namespace of none gets nothing', async () => {
        await ready('Cache', 'red', 'public', { app: 'everyone' }, { sharedWith: ['*'] });
        const dependencies = { cacheSelector: { matchLabels: { app: 'everyone' }, fromTeams: ['red'] } };
        await whenCondition(client, await uses('Service', 'blue', 'anyone', dependencies), bound({ status: 'True' }));
        const outside = await uses('Service', 'default', 'outsider', dependencies);
        await whenCondition(client, outside, bound({ status: 'False', reason: 'NoMatch' }));
      });
    });

    describe('of an object that is deployed', () => {
      /** Starts as its broker would have left it. */
      async function deployed(name: string, dependencies: object) {
        const user = await uses('Service', 'red', name, dependencies);
        await whenCondition(client, user, bound({ status: 'True' }));
        await writeStatus(client, user, { deploymentId: `${user.metadata.uid}/1/1` });
        return user;
      }
      const now = async (name: string) =>
        bindingsOf(await client.get(resourceOf('Service'), { namespace: 'red', name }));

      test('a second match changes no binding and is reported; the next deployment binds it', async () => {
        const labels = { app: 'second' };
        await ready('Database', 'red', 'second-a', labels);
        const user = await deployed('second', { databaseSelector: { matchLabels: labels } });
        const before = await now('second');
        await ready('Database', 'red', 'second-b', labels);
        const warned = await whenCondition(client, user, bound({ status: 'True', reason: 'MatchesPending' }));
        expect(bindingsOf(warned)).toEqual(before);
        expect(JSON.stringify(warned.status)).toContain('Database red/second-b will be bound with the next deployment');
        await eventually(async () => (await eventsOf(client, 'second')).includes('MatchesPending'), patient);
        const body = { spec: { image: 'registry.company.com/second:2' } };
        await client.patch(resourceOf('Service'), { namespace: 'red', name: 'second' }, { type: 'merge', body });
        const after = await whenCondition(client, user, bound({ status: 'True', reason: 'AllBound' }));
        expect(bindingsOf(after).map(({ name }) => name)).toEqual(['second-a', 'second-b']);
        expect(bindingsOf(after)).toContainEqual(before[0]);
      });

      test('a new match is bound together with another change', async () => {
        const labels = { app: 'together' };
        const first = await ready('Database', 'red', 'together-a', labels);
        const user = await deployed('together', { databaseSelector: { matchLabels: labels } });
        await ready('Database', 'red', 'together-b', labels);
        await whenCondition(client, user, bound({ reason: 'MatchesPending' }));
        await rotate(first, 'second');
        await whenCondition(client, user, bound({ reason: 'AllBound' }));
        expect((await now('together')).map(({ name, revision }) => `${name} ${revision}`)).toEqual([
          'together-a second',
          'together-b first',
        ]);
      });

      test('two names of one variable are an error that names both, and the existing binding is kept', async () => {
        const labels = { app: 'fold' };
        const address = { phase: 'ready', outputs: { host: 'first' } };
        await create(client, { kind: 'Service', namespace: 'red', name: 'pay-ments', labels, status: address });
        const user = await deployed('fold', { serviceSelector: { matchLabels: labels } });
        const before = await now('fold');
        await create(client, { kind: 'Service', namespace: 'red', name: 'pay.ments', labels, status: address });
        const conflicts = async () => {
          const failed = await whenCondition(client, user, bound({ status: 'False', reason: 'VariableConflict' }));
          expect(JSON.stringify(failed.status)).toContain(
            'entry host of Service red/pay-ments and entry host of Service red/pay.ments are both the variable SERVICE_PAY_MENTS_HOST',
          );
          expect(bindingsOf(failed)).toEqual(before);
          return getCondition((failed.status as { conditions?: Condition[] }).conditions, 'DependenciesBound');
        };
        await conflicts();
        // Another deployment, which would bind both.
        const body = { spec: { image: 'registry.company.com/fold:2' } };
        await client.patch(resourceOf('Service'), { namespace: 'red', name: 'fold' }, { type: 'merge', body });
        await eventually(async () => expect((await conflicts())?.observedGeneration).toBe(2), patient);
        await eventually(async () => (await eventsOf(client, 'fold')).includes('VariableConflict'), patient);
      });
    });

    test('a Secret of that name that is not ours is never written to', async () => {
      const user = await create(client, { kind: 'Service', namespace: 'red', name: 'careful' });
      await ready('Secret', 'red', 'keys', { app: 'careful' });
      const dependencies = { secretSelector: { matchLabels: { app: 'careful' } } };
      const patch = { type: 'merge' as const, body: { spec: { dependencies } } };
      await client.patch(resourceOf('Service'), { namespace: 'red', name: 'careful' }, patch);
      const [binding] = bindingsOf(await whenCondition(client, user, bound({ status: 'True' })));
      const key = { namespace: 'red', name: binding?.connectionSecret ?? '' };
      await client.patch(
        resourceOf('Service'),
        { namespace: 'red', name: 'careful' },
        { type: 'merge', body: { spec: { dependencies: null } } },
      );
      await eventually(() => isGone(client, coreSecrets, key), patient);
      await client.create(coreSecrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: key,
        data: { own: '' },
      } as UnknownObject);
      await client.patch(resourceOf('Service'), { namespace: 'red', name: 'careful' }, patch);
      await whenCondition(client, user, bound({ status: 'False', reason: 'SecretNameConflict' }));
      expect(await client.get(coreSecrets, key)).toMatchObject({ data: { own: '' } });
    });

    test('a new leader continues where the last one stopped, and rewrites nothing', async () => {
      await ready('Database', 'red', 'steady', { app: 'steady' });
      const user = await uses('Service', 'red', 'steady', { databaseSelector: { matchLabels: { app: 'steady' } } });
      const before = await whenCondition(client, user, bound({ status: 'True' }));
      const [binding] = bindingsOf(before);
      const copy = () => client.get(coreSecrets, { namespace: 'red', name: binding?.connectionSecret ?? '' });
      const { resourceVersion } = (await copy()).metadata;
      await platform.restart();
      // It is at work once it has bound what came since.
      await ready('Database', 'red', 'late', { app: 'late' });
      const late = await uses('Service', 'red', 'late', { databaseSelector: { matchLabels: { app: 'late' } } });
      await whenCondition(client, late, bound({ status: 'True' }));
      expect((await copy()).metadata.resourceVersion).toBe(resourceVersion);
      const after = await client.get(resourceOf('Service'), { namespace: 'red', name: 'steady' });
      expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    });
  });
}
