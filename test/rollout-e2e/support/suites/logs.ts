/** What the log says of rollouts: each line can be joined with the trace, the operator, the cluster and who asked (docs/requirements.md, 002 Logging). */
import { expect, test } from 'vitest';
import { type OperatorDeployment, operatorDeployment } from '../../../../src/api/index.ts';
import { parseTraceparent } from '../../../../src/runtime/internal.ts';
import type { Show } from '../suite-context.ts';
import { asked } from './rest.ts';

type Line = Readonly<Record<string, unknown>>;

export function logTests(show: () => Show): void {
  test('every line of a rollout says of which, where, for whom and in which trace', async () => {
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

  test('so does the audit of what was asked for, and of each access to a cluster for it', () => {
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

/** Each is an object of its own. */
const linesOf = (log: readonly string[]): Line[] =>
  log
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
