import { expect, test } from 'vitest';
import type { Operator, OperatorInstallation } from '../../api/index.ts';
import { listText, reportOf, rowOf, statusText } from './show.ts';

const at = '2026-01-31T12:00:00Z';
const operator = (conditions: object[]): Operator =>
  ({
    metadata: { name: 'widgets', uid: 'u-1' },
    spec: { chart: { repository: 'https://charts.example.com' }, namespace: 'widgets' },
    status: {
      conditions,
      repositoryCheckedAt: at,
      installations: 2,
      healthyInstallations: 1,
      versions: [
        { version: '2.1.0', chartVersion: '2.1.0', state: 'Invalid', message: 'it does not render' },
        { version: '2.0.0', chartVersion: '0.9.0', state: 'Available', compatibility: 'breaking', definitions: [{}] },
      ],
    },
  }) as unknown as Operator;
const ready = { type: 'Ready', status: 'True', reason: 'ResourceReady', message: '', lastTransitionTime: at };

const installation = (cluster: string, health: string, webhook?: object): OperatorInstallation =>
  ({
    spec: { operator: 'widgets', cluster, version: '2.0.0', deployment: 'widgets-2' },
    status: { health, controllerPods: 3, pods: { state: 'Healthy' }, webhook, reconciliation: { state: 'Healthy' } },
  }) as unknown as OperatorInstallation;

test('a list shows which operators can be rolled out, and their health', () => {
  expect(listText([])).toContain('there are no operators');
  const other = { ...rowOf(operator([])), name: 'other' };
  expect(listText([rowOf(operator([ready])), other])).toBe(
    [
      'NAME     NEWEST  NAMESPACE  CLUSTERS  HEALTHY  READY  REASON',
      'widgets  2.0.0   widgets    2         1        yes',
      'other    2.0.0   widgets    2         1        no     NotReconciled',
      '',
    ].join('\n'),
  );
});

test('a status shows the versions, and the problems on each cluster', () => {
  const slow = { state: 'Unhealthy', message: 'the webhook took 1.4 s' };
  const clusters = [installation('prod', 'Unhealthy', slow), installation('dev', 'Healthy', { state: 'NotChecked' })];
  expect(statusText(reportOf(operator([ready]), clusters))).toBe(
    [
      'Name             widgets',
      'Id               u-1',
      'Chart            https://charts.example.com',
      'Namespace        widgets',
      `Repository       reached ${at}`,
      'Clusters         2, well on 1',
      '',
      'VERSION  CHART  STATE      COMPATIBILITY  DEFINITIONS  WHY',
      '2.1.0    2.1.0  Invalid    -              0            it does not render',
      '2.0.0    0.9.0  Available  breaking       1',
      '',
      'CLUSTER  VERSION  HEALTH     PODS         WEBHOOK     RECONCILIATION  WHY',
      'dev      2.0.0    Healthy    Healthy (3)  NotChecked  Healthy',
      'prod     2.0.0    Unhealthy  Healthy (3)  Unhealthy   Healthy         the webhook took 1.4 s',
      '',
    ].join('\n'),
  );
});
