import { expect, test } from 'vitest';
import { newTraceparent, withTraceparent } from '../../runtime/internal.ts';
import { logTo } from './log.ts';

const written = (use: (log: ReturnType<typeof logTo>) => void) => {
  const lines: string[] = [];
  use(logTo({ write: (line) => void lines.push(line) }, 'info'));
  return lines.map((line) => JSON.parse(line));
};

test('an entry has the fields of the requirement', () => {
  const [line, second, ...more] = written((log) => {
    log.debug('below the level');
    log.with({ operatorName: 'widgets' }).info('an operator was deployed', { version: '2.0.0', cluster: 'dev-1' });
    log.warn('a step on a cluster failed', { error: new Error('why') });
  });
  expect(line).toMatchObject({
    level: 'INFO',
    message: 'an operator was deployed',
    operatorName: 'widgets',
    version: '2.0.0',
    cluster: 'dev-1',
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
  expect(line).not.toHaveProperty('traceId');
  expect(second).toMatchObject({ level: 'WARNING', error: { message: 'why' } });
  expect(more).toEqual([]);
});

test('an entry inside a span names its trace, unless it sets another', () => {
  const traceparent = newTraceparent();
  const lines = withTraceparent(traceparent, () =>
    written((log) => {
      log.info('a cluster was accessed');
      log.info('rollout progressed', { traceId: 'of its own' });
    }),
  );
  expect(lines.map(({ traceId }) => traceId)).toEqual([traceparent.split('-')[1], 'of its own']);
});
