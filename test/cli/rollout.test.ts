/** Tests `kidp operators` and `kidp rollout` against a real API server: output, changes and errors. */
import { Readable } from 'node:stream';
import { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  type Approval,
  approval,
  type Operator,
  type OperatorDeployment,
  operator,
  operatorDeployment,
} from '../../src/api/index.ts';
import { declareOperators } from '../../src/cli/operators/command.ts';
import { declareRollout } from '../../src/cli/rollout/command.ts';
import type { Client } from '../../src/runtime/index.ts';
import { installKinds } from '../api/support/installed.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';

let client: Client;
beforeAll(async () => {
  ({ client } = await installKinds());
});
afterAll(() => client?.close());

const apiVersion = 'platform.company.com/v1';
const now = () => new Date().toISOString();

/** A rollout with a status that the platform would write; no platform runs in this test. */
async function rolloutWith(status: object, strategy = 'Canary'): Promise<string> {
  const name = uniqueName('rollout');
  const made = await client.create(operatorDeployment.resource, {
    apiVersion,
    kind: 'OperatorDeployment',
    metadata: { name },
    spec: { operator: name, version: '2.0.0', clusters: ['dev-1'], strategy },
  } as unknown as OperatorDeployment);
  const plan = {
    digest: `sha256:${'0'.repeat(64)}`,
    operatorUid: 'u',
    chartDigest: `sha256:${'1'.repeat(64)}`,
    strategy,
    config: {},
    stages: [{ name: 'Stage 1', clusters: ['dev-1'] }],
    createdAt: now(),
  };
  const clusters = [{ name: 'dev-1', environment: 'Dev', stage: 1, state: 'Deploying', checks: 2, checksPassed: 1 }];
  const counts = { total: 1, healthy: 0, failed: 0, skipped: 0, rolledBack: 0 };
  await client.update(
    operatorDeployment.resource,
    { ...made, status: { phase: 'Deploying', stage: 1, startedAt: now(), plan, clusters, counts, ...status } } as never,
    { subresource: 'status' },
  );
  return name;
}

const specOf = async (name: string): Promise<OperatorDeployment['spec']> =>
  (await client.get<OperatorDeployment>(operatorDeployment.resource, { name })).spec;

async function kidp(...words: string[]) {
  const output = { out: '', err: '' };
  const sink = (to: 'out' | 'err') => ({
    write(text: string) {
      output[to] += text;
    },
  });
  const streams = { in: Readable.from([]), out: sink('out'), err: sink('err') };
  let code = 0;
  const done = (result: number) => {
    code = result;
  };
  const program = new Command('kidp').exitOverride();
  declareOperators(program.command('operators'), done, streams);
  declareRollout(program.command('rollout'), done, streams);
  try {
    await program.parseAsync([...words, '--kubeconfig', sharedCluster().kubeconfig], { from: 'user' });
  } catch (error) {
    return { ...output, code: 2, failure: String(error) };
  }
  return { ...output, code, failure: '' };
}

test('lists operators with their versions', async () => {
  const name = uniqueName('widgets');
  const made = await client.create(operator.resource, {
    apiVersion,
    kind: 'Operator',
    metadata: { name },
    spec: { chart: { repository: 'https://charts.example.com' } },
  } as unknown as Operator);
  const versions = [{ version: '2.0.0', chartVersion: '2.0.0', state: 'Available' }];
  await client.update(operator.resource, { ...made, status: { versions } } as never, { subresource: 'status' });
  const list = await kidp('operators', 'list', '-o', 'json');
  expect(JSON.parse(list.out)).toContainEqual(
    expect.objectContaining({ name, newest: '2.0.0', ready: false, reason: expect.any(String) }),
  );
  const status = await kidp('operators', 'status', name);
  expect(status.code).toBe(1);
  expect(status.out).toMatch(/VERSION +CHART +STATE .*\n2\.0\.0 +2\.0\.0 +Available/);
  expect((await kidp('operators', 'status', 'no-such')).failure).toContain('there is no Operator no-such');
});

test('a rollout is listed, shown and controlled', async () => {
  const name = await rolloutWith({});
  const list = await kidp('rollout', 'list', '--operator', name, '-o', 'yaml');
  expect(parse(list.out)).toMatchObject([{ name, phase: 'Deploying', stage: 1, stages: 1, clusters: { total: 1 } }]);
  expect((await kidp('rollout', 'list', '--operator', name, '--phase', 'Failed')).out).toContain('no rollouts');
  const status = await kidp('rollout', 'status', name);
  expect(status).toMatchObject({ code: 0, failure: '' });
  expect(status.out).toMatch(/▶ Stage 1\n +▸ dev-1 +Dev +Deploying +1\/2 passed/);

  expect((await kidp('rollout', 'pause', name)).code).toBe(0);
  expect((await specOf(name)).paused).toBe(true);
  expect((await kidp('rollout', 'resume', name)).out).toContain('resumed');
  expect((await specOf(name)).paused).toBeUndefined();
  expect((await kidp('rollout', 'promote', name)).code).toBe(0);
  expect((await specOf(name)).promote).toBe(1);
  expect((await kidp('rollout', 'promote', name, '--stage', '7')).failure).toContain('has 1 stages');
  expect((await kidp('rollout', 'abort', name)).code).toBe(0);
  expect((await kidp('rollout', 'rollback', name)).code).toBe(0);
  expect(await specOf(name)).toMatchObject({ abort: true, rollback: true });
  expect((await kidp('rollout', 'pause', 'no-such')).failure).toContain('kidp rollout list');
});

test.each([
  { reason: 'it is completed', status: { phase: 'Completed', finishedAt: now() }, code: 0 },
  { reason: 'it has failed', status: { phase: 'Failed', finishedAt: now() }, code: 1 },
])('watching ends with an exit code: $reason', async ({ status, code }) => {
  const name = await rolloutWith(status);
  const watched = await kidp('rollout', 'watch', name);
  expect(watched).toMatchObject({ code, failure: '' });
  expect(watched.out).toContain(`${name}: ${name} 2.0.0, Canary\n`);
});

test('watching continues until the end, or until the rollout is deleted', async () => {
  const name = await rolloutWith({});
  const watching = kidp('rollout', 'watch', name, '--interval', '0.1');
  const found = await client.get<OperatorDeployment>(operatorDeployment.resource, { name });
  const history = [{ at: now(), what: 'ClusterHealthy', cluster: 'dev-1', message: 'dev-1: Validating → Healthy' }];
  const status = { ...found.status, phase: 'Completed', finishedAt: now(), history };
  await client.update(operatorDeployment.resource, { ...found, status } as never, { subresource: 'status' });
  const watched = await watching;
  expect(watched.code).toBe(0);
  expect(watched.out).toMatch(/ClusterHealthy +dev-1: Validating → Healthy/);

  const other = await rolloutWith({});
  const ending = kidp('rollout', 'watch', other, '--interval', '0.1');
  await client.delete(operatorDeployment.resource, { name: other });
  const ended = await ending;
  // A deletion is not a success, whether it was observed or not.
  expect(ended.code).not.toBe(0);
});

test('refuses a decision if admission does not record the user', async () => {
  const name = uniqueName('approval');
  const subject = { kind: 'OperatorDeployment', name, uid: 'u', digest: `sha256:${'0'.repeat(64)}` };
  await client.create(approval.resource, {
    apiVersion,
    kind: 'Approval',
    metadata: { name },
    spec: { subject, type: 'VersionUpgrade', environment: 'Production', requester: 'ada' },
  } as unknown as Approval);
  const answer = await kidp('rollout', 'approve', name, '--reason', 'it was tried in Staging');
  expect(answer).toMatchObject({ code: 1, out: '', failure: '' });
  expect(answer.err).toMatch(/spec\.decisions\[0\]\.by/);
  expect((await client.get<Approval>(approval.resource, { name })).spec.decisions).toEqual([]);
  expect((await kidp('rollout', 'reject', 'no-such')).failure).toContain('no Approval or OperatorDeployment');
});
