/** Rollouts started over the REST API: admission sees the caller, and its denials name the field of the body. */
import { request } from 'undici';
import { expect, test } from 'vitest';
import {
  type OperatorDeployment,
  type Operator as OperatorObject,
  operatorDeployment,
  operator as operatorKind,
  REQUESTED_BY_ANNOTATION,
} from '../../../../src/api/index.ts';
import type { Client } from '../../../../src/runtime/index.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';
import type { Show } from '../suite-context.ts';
import { patient, statesOf, untilPhase } from '../testbed.ts';

const operator = 'facade';
/** The caller and their trace: the log entries of the rollout are found by these. */
export const asked = {
  name: 'facade-1',
  user: 'rosa',
  traceparent: `00-${'5e'.repeat(16)}-${'c0'.repeat(8)}-01`,
} as const;

const body = {
  operator,
  version: '1.0.0',
  clusters: ['dev'],
  strategy: 'Direct',
  health: { interval: 'PT1S', failureThreshold: 3 },
};

export function restTests(show: () => Show): void {
  test('a rollout over the REST API belongs to its caller, and denials name the field', {
    timeout: 3 * patient.within,
  }, async () => {
    const { stage, people } = show();
    const { client } = stage;
    const wants = '{{- $_ := required "set host" .Values.host }}';
    await stage.addOperator([
      { name: operator, version: '1.0.0' },
      { name: operator, version: '2.0.0', files: { 'templates/wants.yaml': wants } },
    ]);
    await untilLookedAt(client);
    const token = await people.token(asked.user, 'kidp:operator');
    const { traceparent } = asked;
    const post = (change: object) => posted(show(), '/deployments', { token, traceparent }, { ...body, ...change });
    await untilStamped(client);

    const reserved = await post({ name: 'refused-1', labels: { 'platform.company.com/of': 'me' } });
    expect(reserved).toMatchObject({
      status: 403,
      body: { code: 'denied', errors: [{ path: '/labels/platform.company.com~1of' }] },
    });
    const missing = await post({ name: 'refused-2', version: '9.9.9' });
    expect(missing).toMatchObject({ status: 400, body: { code: 'invalid', errors: [{ path: '/version' }] } });
    expect(missing.body.detail).toMatch(/Operator "facade" has no version "9\.9\.9"/);
    const without = await post({ name: 'refused-3', version: '2.0.0' });
    expect(without).toMatchObject({ status: 400, body: { errors: [{ path: '/version' }] } });
    expect(without.body.errors[0].message).toMatch(/^The chart does not render: .*set host/);
    const tooFew = await post({ name: 'refused-4', version: '2.0.0', environmentValues: { Dev: { port: 1 } } });
    expect(tooFew).toMatchObject({ status: 400, body: { errors: [{ path: '/environmentValues/Dev' }] } });
    const { items } = await client.list<OperatorDeployment>(operatorDeployment.resource, {});
    expect(items.filter(({ metadata }) => metadata.name.startsWith('refused-'))).toEqual([]);

    const begun = await post({ name: asked.name });
    expect(begun).toMatchObject({ status: 202 });
    const done = await untilPhase(client, asked.name, 'Completed', 'Failed');
    expect(statesOf(done)).toEqual({ dev: 'Healthy' });
    expect(done.metadata.uid).toBe(begun.body.id);
    expect(done.metadata.annotations?.[REQUESTED_BY_ANNOTATION]).toBe(asked.user);

    await post({ name: 'facade-2', version: '2.0.0', values: { host: 'example.com' } });
    expect(statesOf(await untilPhase(client, 'facade-2', 'Completed', 'Failed'))).toEqual({ dev: 'Healthy' });
  });
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
  readonly body: any;
}

async function posted(
  { platform }: Show,
  path: string,
  { token, traceparent }: { readonly token: string; readonly traceparent?: string },
  sent: object,
): Promise<Answer> {
  const { statusCode, body: answer } = await request(`${platform.rest?.url}/api/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    body: JSON.stringify(sent),
  });
  return { status: statusCode, body: await answer.json() };
}

/** The versions are listed, so that unknown ones are denied from now on. */
const untilLookedAt = (client: Client): Promise<void> =>
  eventually(async () => {
    const { status } = await client.get<OperatorObject>(operatorKind.resource, { name: operator });
    const states = status?.versions?.map(({ state }) => state);
    if (states?.join() !== 'Available,Available') throw new Error(JSON.stringify(status));
  }, patient);

/**
 * An API server observes webhooks with a watch, so wait until it calls ours. Other users ask, because the limit is ten
 * per minute.
 */
const untilStamped = (client: Client): Promise<void> =>
  eventually(async () => {
    const tried = await client.create<OperatorDeployment>(
      operatorDeployment.resource,
      {
        apiVersion: 'platform.company.com/v1',
        kind: operatorDeployment.kind,
        metadata: { name: 'tried-by-rest' },
        spec: body,
      } as unknown as OperatorDeployment,
      { dryRun: true },
    );
    if (tried.metadata.annotations?.[REQUESTED_BY_ANNOTATION] === undefined)
      throw new Error('admission did not record the requester');
  }, patient);
