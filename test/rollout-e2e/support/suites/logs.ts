/**
 * The log of rollouts: each entry can be correlated with the trace, the operator, the cluster and the requester
 * (docs/requirements.md, 002 Logging).
 */
import { expect, test } from 'vitest';
import { type OperatorDeployment, operatorDeployment } from '../../../../src/api/index.ts';
import { parseTraceparent } from '../../../../src/runtime/internal.ts';
import type { Show } from '../suite-context.ts';
import { asked } from './rest.ts';

type Line = Readonly<Record<string, unknown>>;

export function logTests(show: () => Show): void {
  test('every log entry of a rollout has its rollout, cluster, user and trace', async () => {
    const { stage, log } = show();
    const { name } = asked;
    const { metadata } = await stage.client.get<OperatorDeployment>(operatorDeployment.resource, { name });
    const lines = linesOf(log).filter(({ deployment }) => deployment === name);
    const common = {
      traceId: parseTraceparent(asked.traceparent)?.traceId,
      operatorName: 'facade',
      version: '1.0.0',
      deploymentId: metadata.uid,
      userId: asked.user,
    };
    for (const line of lines) {
      expect(line).toMatchObject({ ...common, level: expect.stringMatching(/^(DEBUG|INFO|WARNING|ERROR)$/) });
      expect(Date.parse(String(line.timestamp))).not.toBeNaN();
    }
    expect(lines).toContainEqual(
      expect.objectContaining({ ...common, message: 'operator deployed', cluster: 'dev', level: 'INFO' }),
    );
    const reported = lines.filter(({ message }) => message === 'rollout progressed').map(({ reason }) => reason);
    expect(reported).toEqual(expect.arrayContaining(['Planned', 'ClusterHealthy', 'Completed']));
  });

  test('audit entries of requests and of cluster access have them too', () => {
    const { traceId } = parseTraceparent(asked.traceparent) ?? {};
    const audited = linesOf(show().log).filter((line) => line.audit === true && line.traceId === traceId);
    expect(audited).toContainEqual(
      expect.objectContaining({ event: 'deployment.create', userId: asked.user, name: asked.name, outcome: 'done' }),
    );
    expect(audited).toContainEqual(
      expect.objectContaining({ event: 'deployment.create', userId: asked.user, status: 403, outcome: 'refused' }),
    );
    expect(audited).toContainEqual(
      expect.objectContaining({ event: 'cluster.access', userId: asked.user, cluster: 'dev' }),
    );
  });
}

/** Each entry is one JSON object. */
const linesOf = (log: readonly string[]): Line[] =>
  log
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
