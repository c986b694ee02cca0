/** E-mail about Approvals with a real API server and a real mail server, also while the mail server is unavailable. */
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Approval, approval } from '../../src/api/index.ts';
import { addApprovalMail, mailerOf } from '../../src/reconcile/index.ts';
import { type Client, Manager, silentLogger } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { installKinds } from '../api/support/installed.ts';
import { uniqueName } from '../support/cluster.ts';

interface Received {
  readonly user: string | undefined;
  readonly to: readonly string[];
  readonly text: string;
}

const patient = { within: 180_000, every: 100 };
const received: Received[] = [];
const password = 'a password that nobody guesses';
/** For these it is busy, so many times: other tests have Approvals in this cluster too. */
const busy = { for: 'patient@company.com', times: 3 };

const server = new SMTPServer({
  authOptional: false,
  allowInsecureAuth: true,
  hideSTARTTLS: true,
  onAuth: ({ username, password: given }, _session, done) =>
    given === password ? done(null, { user: username }) : done(new Error('who are you')),
  onRcptTo: ({ address }, _session, done) =>
    address.startsWith('gone') ? done(Object.assign(new Error('nobody here'), { responseCode: 550 })) : done(),
  onData: (stream, session, done) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    stream.on('end', () => {
      const to = session.envelope.rcptTo.map(({ address }) => address);
      received.push({ user: String(session.user), to, text });
      if (to.includes(busy.for) && busy.times-- > 0)
        done(Object.assign(new Error('come again'), { responseCode: 451 }));
      else done();
    });
  },
});

const events: { readonly reason: string; readonly note: string }[] = [];
const recorder = { record: (event: (typeof events)[number]) => void events.push(event) };

let client: Client;
let port: number;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ client } = await installKinds());
  port = await new Promise<number>((resolve) => {
    const listening = server.listen(0, '127.0.0.1', () => {
      const address = listening.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const credentials = async () => ({ user: 'kidp', password });
  const mailer = mailerOf({ smtp: { host: '127.0.0.1', port, credentials }, from: 'kidp@company.com' });
  const manager = new Manager({ client, log: silentLogger });
  addApprovalMail(manager, { mailer, log: silentLogger, recorder, retryMilliseconds: 50 });
  const ending = new AbortController();
  const running = manager.start(ending.signal);
  stop = async () => {
    ending.abort();
    await running;
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await client.close();
  };
});
afterAll(() => stop?.());

const levels = [
  { role: 'EnvironmentOwner', approvals: 1 },
  { role: 'Admin', approvals: 1 },
];

async function ask(notify: string[]): Promise<Approval> {
  const digest = `sha256:${'0'.repeat(64)}`;
  return client.create<Approval>(approval.resource, {
    apiVersion: 'platform.company.com/v1',
    kind: 'Approval',
    metadata: { name: uniqueName('mail') },
    spec: {
      subject: { kind: 'OperatorDeployment', name: 'certificates', uid: 'u', digest },
      environment: 'Production',
      levels,
      notify,
      requester: 'ada',
    },
  } as unknown as Approval);
}

const about = ({ metadata }: Approval) => received.filter(({ text }) => text.includes(`approval-${metadata.uid}-`));
const idsOf = (messages: readonly Received[]) =>
  messages.map(({ text }) => /^Message-ID: (.*)$/im.exec(text)?.[1]?.trim());
const stored = ({ metadata }: Approval) => client.get<Approval>(approval.resource, { name: metadata.name });

describe('a pending Approval', () => {
  test('notifies the approvers of each level once, and nobody after the decision', async () => {
    const asked = await ask(['owners@company.com', 'more@company.com']);
    await eventually(async () => (await stored(asked)).status?.notifiedLevel === 1, patient);
    expect(about(asked)).toMatchObject([{ user: 'kidp', to: ['owners@company.com', 'more@company.com'] }]);
    const decided = { decision: 'Approve', by: 'grace', at: '2026-01-31T12:00:00Z', roles: ['EnvironmentOwner'] };
    const body = { spec: { decisions: [decided] } };
    await client.patch(approval.resource, { name: asked.metadata.name }, { type: 'merge', body });
    await eventually(async () => (await stored(asked)).status?.notifiedLevel === 2, patient);
    const { uid } = asked.metadata;
    expect(idsOf(about(asked))).toEqual([`<approval-${uid}-1@company.com>`, `<approval-${uid}-2@company.com>`]);
    const last = { ...decided, by: 'linus', roles: ['Admin'] };
    await client.patch(
      approval.resource,
      { name: asked.metadata.name },
      { type: 'merge', body: { spec: { decisions: [decided, last] } } },
    );
    // A later Approval is notified, so every earlier message would have been sent too.
    const after = await ask(['owners@company.com']);
    await eventually(async () => (await stored(after)).status?.notifiedLevel === 1, patient);
    expect(about(asked)).toHaveLength(2);
  });

  test('is sent again with the same Message-ID while the mail server rejects it', async () => {
    const asked = await ask([busy.for]);
    await eventually(async () => (await stored(asked)).status?.notifiedAt !== undefined, patient);
    const ids = idsOf(about(asked));
    expect(ids.length).toBeGreaterThan(3);
    expect(new Set(ids).size).toBe(1);
  });

  test('is sent once to accepted recipients, and rejected ones are an Event', async () => {
    const asked = await ask(['gone@company.com', 'owners@company.com']);
    await eventually(async () => (await stored(asked)).status?.notifiedLevel === 1, patient);
    expect(about(asked)).toMatchObject([{ to: ['owners@company.com'] }]);
    const refusals = () => events.filter(({ reason }) => reason === 'RecipientRejected');
    await eventually(() => refusals().length > 0, patient);
    expect(refusals()).toMatchObject([
      { note: 'the mail server rejects the recipients gone@company.com: correct spec.notify' },
    ]);
  });

  test('is sent to nobody without recipients', async () => {
    const asked = await ask([]);
    const after = await ask(['owners@company.com']);
    await eventually(async () => (await stored(after)).status?.notifiedLevel === 1, patient);
    expect((await stored(asked)).status).toBeUndefined();
  });
});

test('sends no message unencrypted to another machine', async () => {
  // The address does not look like the loopback address, but reaches the same server.
  const mailer = mailerOf({ smtp: { host: '0.0.0.0', port }, from: 'Kidp <kidp@company.com>' });
  expect(mailer.domain).toBe('company.com');
  await expect(mailer.send({ id: '<plain@x>', to: ['a@b.c'], subject: 's', text: 't' })).rejects.toThrow(
    /TLS|certificate/i,
  );
  expect(idsOf(received)).not.toContain('<plain@x>');
});
