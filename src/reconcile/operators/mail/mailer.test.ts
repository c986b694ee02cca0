import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mailerOf } from './mailer.ts';

let taken = 0;
const server = new SMTPServer({
  authOptional: true,
  hideSTARTTLS: true,
  onRcptTo: ({ address }, _session, done) =>
    address.startsWith('gone') ? done(Object.assign(new Error('nobody here'), { responseCode: 550 })) : done(),
  onData: (stream, _session, done) => {
    stream.resume().on('end', () => {
      taken += 1;
      done();
    });
  },
});
let port = 0;
beforeAll(async () => {
  port = await new Promise<number>((resolve) => {
    const listening = server.listen(0, '127.0.0.1', () => {
      const address = listening.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
});
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));

const send = (to: readonly string[]) =>
  mailerOf({ smtp: { host: '127.0.0.1', port }, from: 'kidp@company.com' }).send({
    id: '<1@company.com>',
    to,
    subject: 's',
    text: 't',
  });

test('a message accepted for one recipient is sent and lists the rejected ones', async () => {
  expect(await send(['gone@company.com', 'owners@company.com'])).toEqual({ refused: ['gone@company.com'] });
  expect(await send(['owners@company.com'])).toEqual({ refused: [] });
  expect(taken).toBe(2);
});

test('a message accepted for no recipient is not sent', async () => {
  await expect(send(['gone@company.com', 'gone-too@company.com'])).rejects.toThrow(/rejected/);
});
