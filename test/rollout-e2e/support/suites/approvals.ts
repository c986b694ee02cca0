/**
 * A version with a breaking CRD change in Production: nothing is changed there before an Admin approves, and nothing
 * after a rejection.
 */
import { expect, test } from 'vitest';
import { type Approval, approval, type OperatorDeployment, operatorDeployment } from '../../../../src/api/index.ts';
import type { Client, Resource, UnknownObject } from '../../../../src/runtime/index.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';
import type { Show } from '../suite-context.ts';
import {
  addWidgets,
  decide,
  patient,
  releasesOn,
  rollOut,
  statesOf,
  type Target,
  untilPhase,
  versionOn,
  widgetsOn,
} from '../testbed.ts';

const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

const operator = 'contract';
const spec = { clusters: ['production'], strategy: 'Direct' };

export function approvalTests(show: () => Show): void {
  test('a breaking CRD change waits for another Admin, and ends if one rejects it', {
    timeout: 4 * patient.within,
  }, async () => {
    const { stage, people } = show();
    const { client, targets } = stage;
    const production = targets.find(({ name }) => name === 'production');
    if (production === undefined) throw new Error('production cluster not found');
    await stage.addOperator([
      { name: operator, version: '1.0.0' },
      { name: operator, version: '2.0.0', maximum: 15 },
    ]);
    await rollOut(client, 'contract-1', operator, '1.0.0', spec);
    await untilPhase(client, 'contract-1', 'Completed');
    await addWidgets(production, operator, 10);
    const widgets = await widgetsOn(production, operator);
    const before = await thereOn(production);
    expect(before).toEqual({ version: '1.0.0', releases: 1, definition: '1.0.0' });

    // She can decide requests of others.
    const olga = await people.client('olga', 'kidp:operator', 'kidp:admin');
    const adam = await people.client('adam', 'kidp:admin');
    await untilStamped(olga);

    await rollOut(olga, 'contract-2', operator, '2.0.0', spec);
    const rejected = await asked(client, 'contract-2');
    expect(rejected.spec).toMatchObject({ type: 'BreakingCRDChange', environment: 'Production', requester: 'olga' });
    expect(rejected.spec.reason).toMatch(/widgets\.contract\.example\.com/);
    await expect(decide(olga, rejected.metadata.name, 'Approve')).rejects.toThrow(
      /user "olga" requested this Approval and must not decide on it/,
    );
    expect(await thereOn(production)).toEqual(before);
    await decide(adam, rejected.metadata.name, 'Reject');
    const ended = await untilPhase(client, 'contract-2', 'Failed', 'Completed');
    expect(ended.status).toMatchObject({ phase: 'Failed', approvals: [{ outcome: 'Rejected' }] });
    expect(ended.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      reason: 'ApprovalRejected',
      message: expect.stringContaining('nothing was deployed'),
    });
    expect(await thereOn(production)).toEqual(before);

    await rollOut(olga, 'contract-3', operator, '2.0.0', spec);
    const approved = await asked(client, 'contract-3');
    expect(await thereOn(production)).toEqual(before);
    await decide(adam, approved.metadata.name, 'Approve');
    expect(statesOf(await untilPhase(client, 'contract-3', 'Completed', 'Failed'))).toEqual({ production: 'Healthy' });
    const { decisions } = (await client.get<Approval>(approval.resource, { name: approved.metadata.name })).spec;
    expect(decisions).toEqual([{ decision: 'Approve', by: 'adam', at: expect.any(String), roles: ['Admin'] }]);
    expect(await thereOn(production)).toEqual({ version: '2.0.0', releases: 2, definition: '2.0.0' });
    expect(await widgetsOn(production, operator)).toEqual(widgets);
  });
}

/** The state of the operator on a cluster. */
async function thereOn(target: Target) {
  const found = await target.client.get<UnknownObject>(definitions, { name: `widgets.${operator}.example.com` });
  return {
    version: await versionOn(target, operator, `${operator}-system`),
    releases: await releasesOn(target, operator),
    definition: found.metadata.annotations?.['example.com/of'],
  };
}

/** The Approval that a rollout waits for. */
const asked = (client: Client, name: string): Promise<Approval> =>
  eventually(async () => {
    const { status } = await client.get<OperatorDeployment>(operatorDeployment.resource, { name });
    const [first] = status?.approvals ?? [];
    const progress = status?.conditions?.find(({ type }) => type === 'Progressing');
    if (first === undefined || progress?.reason !== 'AwaitingApproval') throw new Error(JSON.stringify(status));
    return client.get<Approval>(approval.resource, { name: first.name });
  }, patient);

/** An API server observes webhooks with a watch, so wait until it calls ours. */
const untilStamped = (client: Client): Promise<void> =>
  eventually(async () => {
    const tried = await client.create<UnknownObject>(
      operatorDeployment.resource,
      {
        apiVersion: 'platform.company.com/v1',
        kind: operatorDeployment.kind,
        metadata: { name: 'tried' },
        spec: { operator, version: '1.0.0', ...spec },
      } as unknown as UnknownObject,
      { dryRun: true },
    );
    if (!Object.values(tried.metadata.annotations ?? {}).includes('olga'))
      throw new Error('admission did not record the requester');
  }, patient);
