import { describe, expect, test } from 'vitest';
import { reportOf } from './summary.ts';
import { rollout } from './support/rollouts.ts';
import { linesBetween, screenOn } from './watch.ts';

const entry = (minute: number, what: string) => ({ at: `2026-01-31T12:${String(minute).padStart(2, '0')}:00Z`, what });
const withHistory = (...history: ReturnType<typeof entry>[]) => reportOf(rollout({ history }));

describe('where there is no terminal', () => {
  test.each([
    {
      reason: 'first all that has happened so far',
      before: undefined,
      after: withHistory(entry(1, 'Planned')),
      lines: ['widgets-2: widgets 2.0.0, Canary', '12:01:00  Planned', 'Deploying: stage 2 of 3'],
    },
    {
      reason: 'nothing where nothing has',
      before: withHistory(entry(1, 'Planned')),
      after: withHistory(entry(1, 'Planned')),
      lines: [],
    },
    {
      reason: 'only what is new',
      before: withHistory(entry(1, 'Planned')),
      after: withHistory(entry(1, 'Planned'), entry(2, 'StageStarted')),
      lines: ['12:02:00  StageStarted'],
    },
    {
      reason: 'also where the oldest entries were dropped',
      before: withHistory(entry(1, 'Planned'), entry(2, 'StageStarted')),
      after: withHistory(entry(2, 'StageStarted'), entry(3, 'Deploying')),
      lines: ['12:03:00  Deploying'],
    },
    {
      reason: 'and another phase',
      before: withHistory(),
      after: reportOf(rollout({ history: [], phase: 'Completed' })),
      lines: ['Completed: stage 2 of 3'],
    },
  ])('$reason', ({ before, after, lines }) => {
    expect(linesBetween(before, after)).toEqual(lines);
  });
});

describe('the screen', () => {
  const written = (isTTY: boolean, environment: NodeJS.ProcessEnv) => {
    const texts: string[] = [];
    const out = { isTTY, columns: 80, rows: 24, write: (text: string) => void texts.push(text) };
    const screen = screenOn(out, environment);
    const report = withHistory(entry(1, 'Planned'));
    screen.show(report, 0);
    screen.show(report, 0);
    screen.note('gone');
    return texts;
  };

  test('a terminal is drawn over', () => {
    const [first = '', second = '', note = ''] = written(true, { NO_COLOR: '1' });
    const lines = first.split('\n').length - 1;
    expect(second).toBe(`\u001b[${lines}A\u001b[0J${first}`);
    expect(note).toBe(`\u001b[${lines}A\u001b[0Jgone\n`);
  });

  test.each([
    { reason: 'a pipe', isTTY: false, environment: {} },
    { reason: 'a terminal that can do nothing', isTTY: true, environment: { TERM: 'dumb' } },
  ])('$reason gets lines', ({ isTTY, environment }) => {
    expect(written(isTTY, environment).join('')).toBe(
      'widgets-2: widgets 2.0.0, Canary\n12:01:00  Planned\nDeploying: stage 2 of 3\ngone\n',
    );
  });
});
