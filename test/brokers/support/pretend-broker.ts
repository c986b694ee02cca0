/**
 * A fake broker that deploys nothing, and breaks the contract on request. It shares only the messages and the keys with the reference
 * brokers.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  encodeEvent,
  encryptTo,
  IdentityError,
  type KeyRing,
  type PlatformVerifier,
  parseDeploymentId,
  platformVerifier,
  type ReportedPhase,
  type RequestEvent,
  readEvent,
  statusEvent,
} from '../../../src/broker/index.ts';

export type Fault =
  | 'no-version'
  | 'shows-a-secret-key'
  | 'open-metrics'
  | 'believes-anybody'
  | 'takes-anything'
  | 'takes-more-than-once'
  | 'fails'
  | 'loses-the-trace'
  | 'encrypts-to-nobody'
  | 'is-open'
  | 'is-silent-when-asked-again'
  | 'has-no-order'
  | 'says-nothing-new'
  | 'knows-no-absence'
  | 'never-deletes'
  | 'counts-backwards'
  | 'signs-with-another-key';

interface Known {
  event: RequestEvent;
  phase: ReportedPhase;
  sequence: number;
}

export interface PretendBroker {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startPretendBroker(
  name: string,
  keys: KeyRing,
  platform: { readonly jwks: string },
  faults: ReadonlySet<Fault>,
  strangerKeys: KeyRing,
): Promise<PretendBroker> {
  const known = new Map<string, Known>();
  const verifier: PlatformVerifier = platformVerifier({ jwks: { url: platform.jwks }, audience: name });
  const has = (fault: Fault) => faults.has(fault);
  const signer = has('signs-with-another-key') ? strangerKeys : keys;
  let ticks = 1_000_000;

  async function report(event: RequestEvent, phase: ReportedPhase, sequence: number): Promise<void> {
    const { deploymentId, resource, replyTo } = event.data;
    const { generation: _, ...object } = resource;
    const isReady = phase === 'ready';
    const said = isReady && has('fails') ? 'failed' : phase;
    const to = has('encrypts-to-nobody') ? strangerKeys.encryptionKey() : (replyTo.encryptionKey ?? {});
    const credentials = isReady ? { credentials: { revision: '1', jwe: await encryptTo(to, { password: 'p' }) } } : {};
    const error =
      said === 'failed' ? { error: { class: 'permanent' as const, code: 'x', message: 'it never works' } } : {};
    const status = statusEvent(
      { broker: name, deploymentId, resource: object, sequence, phase: said, ...credentials, ...error },
      has('loses-the-trace') ? {} : { cause: event },
    );
    await fetch(replyTo.statusUrl ?? '', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await signer.token({ audience: 'kidp', scope: 'status:write' })}`,
        'content-type': 'application/cloudevents+json',
      },
      body: encodeEvent(status),
      // A suite that has ended takes no more reports.
    }).catch(() => undefined);
  }
  const next = () => (has('counts-backwards') ? 7 : ++ticks);

  /** Answers when all is reported: what comes late would be taken for what is missing. */
  async function take(event: RequestEvent): Promise<string> {
    const { action, deploymentId, resource } = event.data;
    const present = known.get(resource.uid);
    if (action === 'Query') {
      const isAbsent = present === undefined;
      if (isAbsent && has('knows-no-absence')) return 'accepted';
      const sequence = has('says-nothing-new') ? (present?.sequence ?? 0) : next();
      await report(
        { ...event, data: { ...event.data, deploymentId: present?.event.data.deploymentId ?? deploymentId } },
        present?.phase ?? 'absent',
        sequence,
      );
      return 'accepted';
    }
    const order = present === undefined ? 1 : compare(deploymentId, present.event.data.deploymentId);
    if (order < 0 && !has('has-no-order')) return 'stale';
    if (order === 0 && !has('takes-more-than-once')) {
      if (!has('is-silent-when-asked-again')) await report(event, present?.phase ?? 'absent', present?.sequence ?? 0);
      return 'duplicate';
    }
    const phase = action === 'Delete' ? 'deleted' : 'ready';
    const first = next();
    const entry = { event, phase, sequence: next() } as const;
    known.set(resource.uid, { ...entry });
    await report(event, 'accepted', first);
    if (phase !== 'deleted' || !has('never-deletes')) await report(event, phase, entry.sequence);
    return 'accepted';
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, body: unknown) =>
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(typeof body === 'string' ? body : JSON.stringify(body));
    const path = request.url ?? '';
    if (path === '/v1/health') {
      return void send(200, { broker: name, capabilities: ['Secret'], ...(has('no-version') ? {} : { version: '1' }) });
    }
    if (path === '/metrics')
      return void send(has('open-metrics') ? 200 : 404, '# HELP up Whether it is.\n# TYPE up gauge\nup 1\n');
    if (path === '/.well-known/jwks.json') {
      const more = has('shows-a-secret-key')
        ? [{ kty: 'oct', k: 'c2VjcmV0', kid: 'oops', use: 'sig', alg: 'HS256' }]
        : [];
      return void send(200, { keys: [...keys.jwks().keys, ...more] });
    }
    const isRecord = path.startsWith('/v1/deployments/');
    const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    try {
      if (!has('believes-anybody') && !(isRecord && has('is-open'))) await verifier.token(token);
    } catch (error) {
      if (!(error instanceof IdentityError)) throw error;
      return void send(401, { code: error.reason });
    }
    if (isRecord) {
      const found = known.get(path.slice('/v1/deployments/'.length));
      return void send(
        found === undefined ? 404 : 200,
        found === undefined ? {} : { deploymentId: found.event.data.deploymentId },
      );
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const read = readEvent(body, ['request']);
    if (has('takes-anything')) return void send(202, { outcome: 'accepted', ...(await receiptOf(body, take)) });
    if ('problem' in read) return void send(422, read.problem);
    if (read.event.data.broker !== name) return void send(422, {});
    send(202, { deploymentId: read.event.data.deploymentId, outcome: await take(read.event) });
  }

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Whatever it is, as long as it looks like something. */
async function receiptOf(body: Buffer, take: (event: RequestEvent) => Promise<string>): Promise<object> {
  try {
    const event = JSON.parse(body.toString('utf8')) as RequestEvent;
    return { deploymentId: event.data.deploymentId, outcome: await take(event) };
  } catch {
    return {};
  }
}

function compare(left: string, right: string): number {
  const [a, b] = [parseDeploymentId(left), parseDeploymentId(right)];
  if (a === undefined || b === undefined) return 1;
  return a.generation - b.generation || a.attempt - b.attempt;
}
