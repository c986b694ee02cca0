/** The checks that every broker must pass. Their order follows one object from its first deployment to its deletion. */
import { randomUUID } from 'node:crypto';
import { parseTraceparent } from '../contract/index.ts';
import { badTokens, type SigningIdentity } from './identity.ts';
import { type Answer, assert, type Subject } from './subject.ts';

export interface Check {
  readonly id: string;
  readonly title: string;
  readonly run: (subject: Subject) => Promise<void>;
}

const outcomeOf = ({ body }: Answer): unknown => (body as { outcome?: unknown } | undefined)?.outcome;
const describeAnswer = ({ status, text }: Answer): string => `the broker answered ${status} ${text.slice(0, 200)}`;
const isRefusal = ({ status }: Answer): boolean => status >= 400 && status < 500;

function assertReceipt(answer: Answer, deploymentId: string, outcome: string): void {
  assert(answer.status === 202, `must answer 202; ${describeAnswer(answer)}`);
  assert(
    (answer.body as { deploymentId?: unknown } | undefined)?.deploymentId === deploymentId,
    `must answer {"deploymentId": "${deploymentId}", …}; ${describeAnswer(answer)}`,
  );
  assert(outcomeOf(answer) === outcome, `must answer with the outcome "${outcome}"; ${describeAnswer(answer)}`);
}

const endpoints: readonly Check[] = [
  {
    id: 'health',
    title: 'GET /v1/health returns name, version and capabilities',
    async run(subject) {
      const answer = await subject.get('/v1/health');
      const { version, capabilities } = (answer.body ?? {}) as { version?: unknown; capabilities?: unknown };
      assert(
        answer.status === 200 && typeof version === 'string',
        `must answer 200 with a version; ${describeAnswer(answer)}`,
      );
      const forms =
        Array.isArray(capabilities) &&
        capabilities.every((each) =>
          /^(Database|Service|Cache|Topic|Secret)(\/[a-z0-9][-a-z0-9.]*)?$/.test(String(each)),
        );
      assert(forms, `capabilities must be kinds, or kinds with an engine; ${describeAnswer(answer)}`);
    },
  },
  {
    id: 'jwks',
    title: 'GET /.well-known/jwks.json returns public signing keys, and no private ones',
    async run(subject) {
      const answer = await subject.get('/.well-known/jwks.json');
      const keys = ((answer.body ?? {}) as { keys?: Record<string, unknown>[] }).keys ?? [];
      assert(answer.status === 200, `must answer 200; ${describeAnswer(answer)}`);
      const signs = ({ kty, crv, kid, use }: Record<string, unknown>) =>
        typeof kid === 'string' &&
        use !== 'enc' &&
        ((kty === 'OKP' && crv === 'Ed25519') || (kty === 'EC' && crv === 'P-256'));
      assert(keys.some(signs), 'must have a signing key (Ed25519 or P-256) with a key id');
      assert(!keys.some((key) => 'd' in key || 'k' in key), 'must not show a private or symmetric key');
    },
  },
  {
    id: 'metrics',
    title: 'GET /metrics is not open to everyone',
    async run(subject) {
      const answer = await subject.get('/metrics');
      assert(
        answer.status !== 200,
        `must require a token, or be served elsewhere; ${describeAnswer(answer).slice(0, 120)}`,
      );
    },
  },
];

/** A refused request must not be carried out either: the broker must not know its object afterwards. */
async function assertNotAccepted(subject: Subject, uid: string): Promise<void> {
  const record = await subject.get(`/v1/deployments/${uid}`, await subject.token());
  assert(record.status === 404, `must not have accepted it; GET /v1/deployments/${uid}: ${describeAnswer(record)}`);
}

const refusals: readonly Check[] = [
  {
    id: 'malformed',
    title: 'a body that is not JSON is refused',
    async run(subject) {
      const answer = await subject.post(Buffer.from('{"specversion":'));
      assert(isRefusal(answer), `must answer 4xx; ${describeAnswer(answer)}`);
    },
  },
  {
    id: 'unknown-version',
    title: 'an event type of another version is refused',
    async run(subject) {
      const uid = randomUUID();
      const event = subject.event({ uid });
      const later = { ...event, type: event.type.replace(/\.v1$/, '.v999') };
      const answer = await subject.post(Buffer.from(JSON.stringify(later)));
      assert(isRefusal(answer), `must answer 4xx; ${describeAnswer(answer)}`);
      await assertNotAccepted(subject, uid);
    },
  },
  {
    id: 'wrong-broker',
    title: 'a request for another broker is refused',
    async run(subject) {
      const uid = randomUUID();
      const answer = await subject.post(subject.event({ uid, data: { broker: `${subject.broker}-other` } }));
      assert(isRefusal(answer), `must answer 4xx; ${describeAnswer(answer)}`);
      await assertNotAccepted(subject, uid);
    },
  },
  {
    id: 'contradiction',
    title: 'a deploymentId of another object is refused',
    async run(subject) {
      const [uid, other] = [randomUUID(), randomUUID()];
      const event = subject.event({ uid, data: { deploymentId: `${other}/1/0` } });
      const answer = await subject.post(event);
      assert(isRefusal(answer), `must answer 4xx; ${describeAnswer(answer)}`);
    },
  },
  {
    id: 'oversized',
    title: 'a request of several megabytes is refused',
    async run(subject) {
      const event = subject.event({ uid: randomUUID(), data: { spec: { padding: 'x'.repeat(4 * 1024 * 1024) } } });
      // Closing the connection also counts as a refusal.
      const answer = await subject.post(event).catch(() => undefined);
      if (answer !== undefined) assert(isRefusal(answer), `must answer 413; ${describeAnswer(answer)}`);
      const alive = await subject.get('/v1/health');
      assert(alive.status === 200, 'must still answer afterwards');
    },
  },
];

const lifecycle: readonly Check[] = [
  {
    id: 'deploy-once',
    title: 'a request sent five times concurrently is accepted once and a duplicate four times',
    async run(subject) {
      const event = { ...subject.event(), additional: 'unknown fields must be ignored' };
      const answers = await Promise.all(Array.from({ length: 5 }, () => subject.post(event)));
      for (const answer of answers) assert(answer.status === 202, `must answer 202; ${describeAnswer(answer)}`);
      const outcomes = answers.map(outcomeOf).sort();
      assert(
        outcomes.join() === 'accepted,duplicate,duplicate,duplicate,duplicate',
        `want one accepted and four duplicates, got ${outcomes.join(', ')}`,
      );
    },
  },
  {
    id: 'ready',
    title: 'the deployment is reported ready, with a valid token',
    async run(subject) {
      const { uid } = subject.object;
      const done = await subject.waitForReport(
        uid,
        'is ready (or failed)',
        ({ phase }) => phase === 'ready' || phase === 'failed',
      );
      assert(done.phase === 'ready', `must be ready, but failed: ${done.error?.message ?? 'without an error'}`);
      assert(done.broker === subject.broker, `the report must name the broker ${subject.broker}, not ${done.broker}`);
      assert(done.deploymentId === `${uid}/1/0`, `the report must be for ${uid}/1/0, not for ${done.deploymentId}`);
      assert(
        subject.receiver.refusals.length === 0,
        `no report must have an invalid token: ${subject.receiver.refusals[0]}`,
      );
    },
  },
  {
    id: 'trace',
    title: 'reports continue the trace and the correlation id of the request',
    async run(subject) {
      const wanted = parseTraceparent(subject.traceparent)?.traceId;
      for (const { event } of subject.receiver.reportsOf(subject.object.uid)) {
        assert(
          parseTraceparent(event.traceparent)?.traceId === wanted,
          `traceparent must be of the trace ${wanted}, not ${event.traceparent}`,
        );
        assert(
          event.correlationid === subject.object.uid,
          `correlationid must be ${subject.object.uid}, not ${event.correlationid}`,
        );
      }
    },
  },
  {
    id: 'credentials',
    title: 'credentials are encrypted to the platform, or references',
    async run(subject) {
      for (const { report } of subject.receiver.reportsOf(subject.object.uid)) {
        const { credentials } = report;
        if (credentials === undefined || 'secretRef' in credentials) continue;
        const values = await subject.keys.decrypt(credentials.jwe).catch((error: Error) => {
          assert(false, `credentials.jwe cannot be decrypted: ${error.message}`);
        });
        const { password } = values;
        assert(
          password === undefined || !JSON.stringify(report.outputs ?? {}).includes(password),
          'outputs must not contain the password',
        );
      }
    },
  },
  {
    id: 'duplicate',
    title: 'a repeated request is a duplicate, and the state is reported again',
    async run(subject) {
      const { uid } = subject.object;
      const before = subject.receiver.reportsOf(uid).length;
      assertReceipt(await subject.post(subject.event()), `${uid}/1/0`, 'duplicate');
      await subject.waitForReport(uid, 'says it again', () => subject.receiver.reportsOf(uid).length > before);
    },
  },
  {
    id: 'record',
    title: 'GET /v1/deployments/UID returns the deployment, to the platform only',
    async run(subject) {
      const { uid } = subject.object;
      const answer = await subject.get(`/v1/deployments/${uid}`, await subject.token());
      const { deploymentId } = (answer.body ?? {}) as { deploymentId?: unknown };
      assert(
        answer.status === 200 && deploymentId === `${uid}/1/0`,
        `must answer 200 with ${uid}/1/0; ${describeAnswer(answer)}`,
      );
      const stranger = await subject.get(`/v1/deployments/${uid}`);
      assert(stranger.status === 401, `must answer 401 without a token; ${describeAnswer(stranger)}`);
    },
  },
  {
    id: 'order',
    title: 'an older request is stale and changes nothing',
    async run(subject) {
      const { uid } = subject.object;
      assertReceipt(await subject.post(subject.event({ generation: 3 })), `${uid}/3/0`, 'accepted');
      assertReceipt(await subject.post(subject.event({ generation: 2 })), `${uid}/2/0`, 'stale');
      assertReceipt(await subject.post(subject.event({ generation: 3, attempt: 1 })), `${uid}/3/1`, 'accepted');
      assertReceipt(await subject.post(subject.event({ generation: 3 })), `${uid}/3/0`, 'stale');
      await subject.waitForReport(
        uid,
        'is ready',
        (report) => report.deploymentId === `${uid}/3/1` && report.phase === 'ready',
      );
      const stale = subject.receiver
        .reportsOf(uid)
        .find(({ report }) => report.deploymentId === `${uid}/2/0` && report.phase === 'ready');
      assert(stale === undefined, 'a stale request must never be reported ready');
    },
  },
  {
    id: 'query',
    title: 'a query is answered with the current state and a higher sequence',
    async run(subject) {
      const { uid } = subject.object;
      const highest = Math.max(...subject.receiver.reportsOf(uid).map(({ report }) => report.sequence));
      const answer = await subject.post(subject.event({ generation: 3, attempt: 1, action: 'Query', query: 1 }));
      assert(answer.status === 202, `must answer 202; ${describeAnswer(answer)}`);
      await subject.waitForReport(
        uid,
        `is ready, with a sequence above ${highest}`,
        ({ phase, sequence }) => phase === 'ready' && sequence > highest,
      );
    },
  },
  {
    id: 'query-unknown',
    title: 'a query for an unknown deployment is answered "absent"',
    async run(subject) {
      const uid = randomUUID();
      const answer = await subject.post(subject.event({ uid, action: 'Query' }));
      assert(answer.status === 202, `must answer 202; ${describeAnswer(answer)}`);
      await subject.waitForReport(uid, 'is absent', ({ phase }) => phase === 'absent');
    },
  },
  {
    id: 'delete',
    title: 'a deletion is reported once everything is removed',
    async run(subject) {
      const { uid } = subject.object;
      assertReceipt(await subject.post(subject.event({ generation: 4, action: 'Delete' })), `${uid}/4/0`, 'accepted');
      await subject.waitForReport(
        uid,
        'is deleted',
        (report) => report.deploymentId === `${uid}/4/0` && report.phase === 'deleted',
      );
    },
  },
  {
    id: 'delete-twice',
    title: 'a repeated deletion is answered "deleted" again',
    async run(subject) {
      const { uid } = subject.object;
      const deleted = () => subject.receiver.reportsOf(uid).filter(({ report }) => report.phase === 'deleted').length;
      const before = deleted();
      assertReceipt(await subject.post(subject.event({ generation: 4, action: 'Delete' })), `${uid}/4/0`, 'duplicate');
      await subject.waitForReport(uid, 'is deleted, once more', () => deleted() > before);
    },
  },
  {
    id: 'delete-unknown',
    title: 'a deletion of an unknown deployment is answered "deleted"',
    async run(subject) {
      const uid = randomUUID();
      const answer = await subject.post(
        subject.event({ uid, name: `conformance-${uid.slice(0, 8)}`, action: 'Delete' }),
      );
      assert(answer.status === 202, `must answer 202; ${describeAnswer(answer)}`);
      await subject.waitForReport(uid, 'is deleted', ({ phase }) => phase === 'deleted');
    },
  },
  {
    id: 'no-return',
    title: 'an old request does not re-create a deleted deployment',
    async run(subject) {
      const { uid } = subject.object;
      assertReceipt(await subject.post(subject.event({ generation: 3, attempt: 1 })), `${uid}/3/1`, 'stale');
    },
  },
  {
    id: 'sequence',
    title: 'sequences increase: different reports of a deployment have different sequences',
    async run(subject) {
      const seen = new Map<string, string>();
      for (const { report } of subject.receiver.reportsOf(subject.object.uid)) {
        const { deploymentId, sequence, phase } = report;
        assert(Number.isSafeInteger(sequence) && sequence >= 0, `a sequence must be a whole number, not ${sequence}`);
        const known = seen.get(`${deploymentId} ${sequence}`);
        assert(
          known === undefined || known === phase,
          `${deploymentId} reports both ${known} and ${phase} with sequence ${sequence}`,
        );
        seen.set(`${deploymentId} ${sequence}`, phase);
      }
      const final = new Map<string, { phase: string; sequence: number }>();
      for (const { report } of subject.receiver.reportsOf(subject.object.uid)) {
        const before = final.get(report.deploymentId);
        const isFirst = report.phase === 'accepted' && before?.phase === 'ready';
        assert(
          !(isFirst && report.sequence > before.sequence),
          `${report.deploymentId} was reported accepted after it was ready`,
        );
        final.set(report.deploymentId, report);
      }
    },
  },
];

/** All checks, those with invalid tokens first: a broker that accepts them should fail before anything is created. */
export async function checksFor(identity: SigningIdentity, broker: string): Promise<Check[]> {
  const tokens = await badTokens(identity, broker);
  return [
    ...endpoints,
    ...tokens.map(({ id, title, token }) => ({
      id,
      title,
      async run(subject: Subject) {
        const uid = randomUUID();
        const answer = await subject.post(subject.event({ uid }), { token });
        assert([401, 403].includes(answer.status), `must answer 401 or 403; ${describeAnswer(answer)}`);
        await assertNotAccepted(subject, uid);
      },
    })),
    ...refusals,
    ...lifecycle,
  ];
}
