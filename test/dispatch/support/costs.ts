/** Costs, from `kidp broker … --prices` to the Application, the Team and `kidp cost`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  API_VERSION,
  application,
  broker,
  deploymentTarget,
  TAKE_OVER_ANNOTATION,
  team,
} from '../../../src/api/index.ts';
import { declareCost } from '../../../src/cli/cost/command.ts';
import { compareAmounts, sumOfAmounts } from '../../../src/reconcile/index.ts';
import type { Resource, UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { endBrokerProcesses, startBrokerProcess } from '../../brokers/support/process.ts';
import { runCommand } from '../../support/check-command.ts';
import { namespace, Objects, patient, type Stage } from './stage.ts';

interface Costs {
  readonly currency: string;
  readonly amount: string;
  readonly reports?: readonly { readonly broker: string; readonly amount: string }[];
}

export function costTests(running: () => Stage): void {
  describe('costs', () => {
    endBrokerProcesses();

    test('of existing, taken-over and deleted deployments are reported by brokers with prices, and charged to Application and Team', async () => {
      const stage = running();
      const { client, plane } = stage;
      const objects = new Objects(stage);
      const directory = mkdtempSync(join(tmpdir(), 'kidp-prices-'));
      const prices = join(directory, 'prices.yaml');
      writeFileSync(prices, 'currency: CHF\nperHour: {Cache: {default: 3600}}\n');
      const { url = '' } = stage.platform.statusApi ?? {};
      const start = (name: string, interval: number) =>
        startBrokerProcess([
          ...['kubernetes', '--name', name, '--kubeconfig', plane.kubeconfig, '--namespace', 'brokers-priced'],
          ...['--host', '127.0.0.1', '--port', '0', '--lease', '60', '--heartbeat', '5'],
          ...['--platform-keys', `${url}/.well-known/jwks.json`, '--status-url', `${url}/v1/status`],
          ...['--prices', prices, '--usage-interval', String(interval)],
        ]);
      // The second one would not come to report before its things are gone.
      const [first, second] = await Promise.all([start('priced-1', 1), start('priced-2', 3_600)]);
      const apply = (resource: Resource, kind: string, metadata: object, spec: object) =>
        client.apply(resource, { apiVersion: API_VERSION, kind, metadata, spec } as UnknownObject, {
          fieldManager: 'test',
          force: true,
        });
      const target = (name: string, annotations: object = {}) =>
        apply(
          deploymentTarget.resource,
          'DeploymentTarget',
          { name: 'priced', annotations },
          { provider: 'test', parameters: { storage: 'ephemeral' }, brokerRef: { name } },
        );
      for (const [name, { url: endpoint }] of [
        ['priced-1', first],
        ['priced-2', second],
      ] as const) {
        stage.guard.allow(new URL(endpoint).host);
        const identity = { jwksUri: `${endpoint}/.well-known/jwks.json`, scopes: ['status:write'] };
        await apply(broker.resource, 'Broker', { name }, { channel: 'HTTP', endpoint, identity });
      }
      await target('priced-1');
      const owner = { kind: 'Team', name: 'backend' };
      await apply(application.resource, 'Application', { name: 'shop', namespace }, { owner });
      const statusCosts = async (resource: Resource, key: { name: string; namespace?: string }) => {
        const { status } = await client.get<UnknownObject & { status?: { costs?: Costs[] } }>(resource, key);
        return (status?.costs ?? []).filter(({ currency }) => currency === 'CHF');
      };
      const ofApplication = () => statusCosts(application.resource, { name: 'shop', namespace });
      const ofTeam = () => statusCosts(team.resource, { name: 'backend' });
      const month = new Date().toISOString().slice(0, 7);
      const bill = async () => {
        const flags = ['--kubeconfig', plane.kubeconfig, '--team', 'backend', '--month', month, '-o', 'json'];
        const { code, out } = await runCommand(declareCost, flags, {});
        expect(code).toBe(0);
        const { rows } = JSON.parse(out) as { rows: (Costs & { name: string; state: string; application: string })[] };
        return rows.filter(({ name }) => name === 'sessions');
      };

      await objects.create('Cache', 'sessions', {
        owner: { kind: 'Application', name: 'shop' },
        targetRef: { name: 'priced' },
      });
      await objects.ready('Cache', 'sessions');
      await eventually(async () => expect(await ofTeam()).toHaveLength(1), patient);
      expect(await bill()).toMatchObject([{ state: 'live', application: `${namespace}/shop`, currency: 'CHF' }]);

      await target('priced-2', { [TAKE_OVER_ANNOTATION]: 'priced-1' });
      const taken = await objects.until(
        'Cache',
        'sessions',
        ({ status }) => status?.phase === 'ready' && status.lastReport?.broker === 'priced-2',
      );
      const [before] = (taken.status as { costs?: Costs[] }).costs ?? [];
      expect(before).toMatchObject({ reports: [{ broker: 'priced-1' }] });
      await objects.remove('Cache', 'sessions');
      await objects.gone('Cache', 'sessions');
      await eventually(async () => {
        const [row, ...others] = await bill();
        expect([row?.state, others]).toEqual(['deleted', []]);
        const settled = await settledOf(stage, taken.metadata.uid ?? '');
        expect(settled?.reports?.map((each) => each.broker)).toEqual(['priced-1', 'priced-2']);
        for (const { amount } of settled?.reports ?? []) expect(compareAmounts(amount, '0')).toBe(1);
        expect(compareAmounts(row?.amount ?? '0', before?.amount ?? '0')).toBe(1);
        const sum = sumOfAmounts(settled?.reports?.map(({ amount }) => amount) ?? []);
        expect([row?.amount, settled?.amount]).toEqual([sum, sum]);
        expect(await ofApplication()).toMatchObject([{ month, amount: sum }]);
        expect(await ofTeam()).toMatchObject([{ month, amount: sum }]);
      }, patient);

      expect(await Promise.all([first, second].map((each) => each.kill('SIGTERM')))).toEqual([0, 0]);
      await client.delete(deploymentTarget.resource, { name: 'priced' });
      for (const name of ['priced-1', 'priced-2']) await client.delete(broker.resource, { name });
      await client.delete(application.resource, { name: 'shop', namespace });
      rmSync(directory, { recursive: true });
    });
  });
}

async function settledOf({ client }: Stage, uid: string): Promise<Costs | undefined> {
  const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
  const { items } = await client.list<UnknownObject & { data?: Record<string, string> }>(configMaps, {
    labelSelector: 'platform.company.com/settled-costs=true',
  });
  const text = items.flatMap(({ data }) => data?.[uid] ?? [])[0];
  return text === undefined ? undefined : (JSON.parse(text) as Costs[])[0];
}
