/** `kidp graph` and `kidp cost` of a cluster. */
import { beforeAll, describe, expect, test } from 'vitest';
import { declareCost } from '../../../src/cli/cost/command.ts';
import { declareGraph } from '../../../src/cli/graph/command.ts';
import type { OwnedObject } from '../../../src/reconcile/index.ts';
import type { Client } from '../../../src/runtime/index.ts';
import { runCommand } from '../../support/check-command.ts';
import { create, createTeam, type RunningPlatform, resourceOf, whenCondition } from './setup.ts';

export function commandTests(running: () => RunningPlatform): void {
  describe('commands', () => {
    const namespace = 'team-billed';
    const owner = { kind: 'Team', name: 'billed' };
    const costs = (amount: string) => ({ costs: [{ month: '2026-05', currency: 'EUR', amount }] });
    let client: Client;
    let kubeconfig: string[];
    beforeAll(async () => {
      const platform = running();
      ({ client } = platform);
      kubeconfig = ['--kubeconfig', platform.plane.kubeconfig];
      const team = await createTeam(client, 'billed', { namespace, costTags: { center: '=1+1' } });
      await whenCondition(client, team, { status: 'True' });
      const shop = await create(client, { kind: 'Application', name: 'shop', namespace, spec: { owner } });
      const spec = { owner: { kind: 'Application', name: 'shop' } };
      const labels = { app: 'billed' };
      const status = { phase: 'ready', outputs: { topic: 't' }, ...costs('0.10') };
      await create(client, { kind: 'Topic', name: 'events', namespace, labels, spec, status });
      const dependencies = { topicSelector: { matchLabels: labels } };
      const web = await create(client, { kind: 'Service', name: 'web', namespace, spec: { ...spec, dependencies } });
      await whenCondition(client, web, { type: 'DependenciesBound', status: 'True' });
      await create(client, { kind: 'Cache', name: 'old', namespace, spec, status: costs('0.20') });
      const old = (await client.get(resourceOf('Cache'), { namespace, name: 'old' })) as unknown as OwnedObject;
      await platform.reconcilers.settleCosts(old);
      await client.delete(resourceOf('Cache'), { namespace, name: 'old' });
      await whenCondition(client, shop, { status: 'False', reason: 'Progressing' });
    });

    test('kidp graph shows what is bound', async () => {
      const { code, out } = await runCommand(declareGraph, [...kubeconfig, '--team', 'billed'], {});
      expect(code).toBe(0);
      expect(out).toBe(`Team billed  ready
└─ Application team-billed/shop  pending
   ├─ Service team-billed/web
   │     uses Topic team-billed/events
   └─ Topic team-billed/events  ready
`);
    });

    test('kidp cost lists each resource, including deleted ones', async () => {
      const flags = [...kubeconfig, '--team', 'billed', '--month', '2026-05', '-o', 'csv'];
      const { code, out } = await runCommand(declareCost, flags, {});
      expect(code).toBe(0);
      expect(out.split('\r\n')).toEqual([
        'month,team,application,kind,namespace,name,state,currency,amount,tags',
        '2026-05,team-billed,team-billed/shop,Cache,team-billed,old,deleted,EUR,0.20,center==1+1',
        '2026-05,team-billed,team-billed/shop,Topic,team-billed,events,live,EUR,0.10,center==1+1',
        '',
      ]);
      const json = JSON.parse((await runCommand(declareCost, [...flags.slice(0, -1), 'json'], {})).out);
      expect(json.totals).toEqual([{ team: namespace, currency: 'EUR', amount: '0.30' }]);
      const unknown = await runCommand(declareCost, [...kubeconfig, '--team', 'bild'], {});
      expect(unknown).toMatchObject({ code: 2, out: '' });
    });
  });
}
