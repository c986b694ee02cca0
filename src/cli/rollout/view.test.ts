import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clusterStates } from '../../api/index.ts';
import { listText, statusText } from './show.ts';
import { reportOf, summaryOf } from './summary.ts';
import { cluster, now, rollout } from './support/rollouts.ts';
import { duration } from './times.ts';
import { barOf, viewOf } from './view.ts';

const seen = { width: 100, height: 24, now, color: false };

test('the live view shows stages with their clusters, the progress and recent history', () => {
  expect(viewOf(reportOf(rollout()), seen)).toEqual([
    'widgets-2  widgets 2.0.0  Canary  Deploying',
    'stage 2 of 3  ██████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  1 of 4 clusters  10m00s',
    'stage 2 of 3',
    '',
    '  Stage 1',
    '    ✓ dev-1    Dev         Healthy      12/12 passed, healthy for 9m00s',
    '▶ Stage 2',
    '    ◌ dev-2    Dev         Validating   3/4 passed, 1 failed in a row  pods: web-1 is not ready',
    '    ▸ prod-eu  Production  Deploying',
    '  Stage 3',
    '    · prod-us  Production  Pending',
    '',
    '12:00:00  Planned             4 clusters in 3 stages (Canary)',
    '12:05:00  StageStarted        stage 2 of 3',
  ]);
});

test('the live view shows pending Approvals and a pause', () => {
  const waiting = rollout(
    {
      phase: 'Planning',
      stage: 0,
      clusters: [cluster('dev-1', 1)],
      approvals: [
        { name: 'a-1', type: 'VersionUpgrade', outcome: 'Pending' },
        { name: 'a-2', type: 'ProductionDeployment', outcome: 'Approved' },
      ],
      conditions: [],
      history: [],
    },
    { paused: true },
  );
  const { startedAt: _, ...status } = waiting.status ?? {};
  expect(viewOf(reportOf({ ...waiting, status } as typeof waiting), seen)).toEqual([
    'widgets-2  widgets 2.0.0  Canary  Planning  paused',
    'stage 0 of 1  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0 of 1 clusters',
    'the platform has not reconciled it yet',
    'waiting for Approval a-1 (VersionUpgrade)',
    '',
    '  Stage 1',
    '    · dev-1  Dev  Pending',
  ]);
});

test('if not all clusters fit, those that need attention are shown and the others counted', () => {
  const many = Array.from({ length: 300 }, (_, index) =>
    cluster(`dev-${index}`, 1, { state: index === 250 ? 'Unhealthy' : index > 280 ? 'Deploying' : 'Healthy' }),
  );
  const lines = viewOf(reportOf(rollout({ clusters: many, stage: 1 })), { ...seen, height: 12 });
  expect(lines.length).toBeLessThanOrEqual(12);
  expect(lines.join('\n')).toContain('✗ dev-250');
  expect(lines.join('\n')).toMatch(/Stage 1 {2}… \d+ Deploying, 280 Healthy/);
});

test('control characters in messages do not reach the terminal', () => {
  const sneaky = cluster('dev-1', 1, { state: 'Unhealthy', message: 'bad\u001b[2J\u202enews\nand more' });
  const [line] = viewOf(reportOf(rollout({ clusters: [sneaky] })), seen).filter((each) => each.includes('dev-1'));
  expect(line).toBe('    ✗ dev-1  Dev  Unhealthy    bad [2J news and more');
});

test('colours do not change the visible text', () => {
  const report = reportOf(rollout());
  const colored = viewOf(report, { ...seen, color: true });
  expect(colored[0]).toBe('\u001b[1mwidgets-2\u001b[0m  widgets 2.0.0  Canary  \u001b[33mDeploying\u001b[0m');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test removes control characters.
  const stripped = colored.map((line) => line.replace(/\u001b\[\d+m/g, '').trimEnd());
  expect(stripped).toEqual(viewOf(report, seen));
});

test('the view fits every terminal', () => {
  const clusters = fc.array(
    fc.record({ stage: fc.integer({ min: 1, max: 4 }), state: fc.constantFrom(...clusterStates) }),
    { minLength: 1, maxLength: 40 },
  );
  const sizes = fc.record({ width: fc.integer({ min: 20, max: 200 }), height: fc.integer({ min: 8, max: 60 }) });
  fc.assert(
    fc.property(clusters, sizes, (all, { width, height }) => {
      const named = all.map(({ stage, state }, index) =>
        cluster(`c-${index}`, stage, { state, message: 'why '.repeat(40) }),
      );
      const lines = viewOf(reportOf(rollout({ clusters: named, stage: 1 })), { width, height, now, color: false });
      expect(lines.length).toBeLessThanOrEqual(height);
      for (const line of lines) expect([...line].length).toBeLessThanOrEqual(width);
    }),
  );
});

describe('the progress bar', () => {
  const counts = { total: 10, healthy: 0, failed: 0, skipped: 0, rolledBack: 0 };
  test.each([
    { reason: 'nothing is done', of: {}, bar: ['', '', '░░░░░░░░░░'] },
    { reason: 'half is done', of: { healthy: 5 }, bar: ['█████', '', '░░░░░'] },
    { reason: 'all is done', of: { healthy: 10 }, bar: ['██████████', '', ''] },
    {
      reason: 'a single failure is visible',
      of: { total: 1000, healthy: 500, failed: 1 },
      bar: ['█████', '▒', '░░░░'],
    },
    { reason: 'all are rolled back', of: { rolledBack: 10 }, bar: ['', '▒▒▒▒▒▒▒▒▒▒', ''] },
    { reason: 'there are no clusters yet', of: { total: 0 }, bar: ['', '', '░░░░░░░░░░'] },
  ])('$reason', ({ of, bar }) => {
    expect(barOf({ ...counts, ...of }, 10)).toEqual(bar);
  });
});

test.each([
  [-5, '0s'],
  [59_999, '59s'],
  [252_000, '4m12s'],
  [7_500_000, '2h05m'],
  [273_600_000, '3d04h'],
])('%i ms are %s', (milliseconds, text) => {
  expect(duration(milliseconds)).toBe(text);
});

test('a list is a table, and an empty list says so', () => {
  expect(listText([], now)).toContain('there are no rollouts');
  expect(listText([summaryOf(rollout()), summaryOf(rollout({}, { paused: true }))], now)).toBe(
    [
      'NAME       OPERATOR  VERSION  STRATEGY  PHASE               STAGE  CLUSTERS  AGE     REASON',
      'widgets-2  widgets   2.0.0    Canary    Deploying           2/3    1/4       11m00s  Deploying',
      'widgets-2  widgets   2.0.0    Canary    Deploying (paused)  2/3    1/4       11m00s  Deploying',
      '',
    ].join('\n'),
  );
});

test('the status shows the reason of a rollback, and the Approvals', () => {
  const back = rollout({
    phase: 'Failed',
    rollback: { reason: 'Unhealthy', message: 'dev-2: pods crash', startedAt: '2026-01-31T12:06:00Z' },
    approvals: [{ name: 'a-2', type: 'ProductionDeployment', outcome: 'Approved' }],
  });
  const text = statusText(reportOf(back), now);
  expect(text).toContain('Rolled back      Unhealthy: dev-2: pods crash\n');
  expect(text).toContain('Approval         a-2 (ProductionDeployment): Approved\n');
  expect(text).toContain('Id               u-1\n');
});
