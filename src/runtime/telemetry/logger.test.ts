import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { pinoLogger, silentLogger } from './logger.ts';

it('writes a constant message with its keys and values through pino', () => {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const log = pinoLogger(pino({ level: 'debug' }, stream)).with({ controller: 'mirror' });
  log.debug('a');
  log.info('b', { key: 'team/orders' });
  log.warn('c');
  log.error('d', { error: new Error('why') });
  expect(lines.map(({ level, msg, controller, key }) => ({ level, msg, controller, key }))).toEqual([
    { level: 20, msg: 'a', controller: 'mirror', key: undefined },
    { level: 30, msg: 'b', controller: 'mirror', key: 'team/orders' },
    { level: 40, msg: 'c', controller: 'mirror', key: undefined },
    { level: 50, msg: 'd', controller: 'mirror', key: undefined },
  ]);
});

it('says nothing where nobody listens', () => {
  expect(silentLogger.with({ a: 1 })).toBe(silentLogger);
});
