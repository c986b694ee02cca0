/** The broker under test, with the requests that the platform sends to it. */
import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import { readAtMost } from '../../runtime/internal.ts';
import { encodeEvent, newTraceparent, requestEvent } from '../contract/index.ts';
import { formatDeploymentId } from '../deployment-id.ts';
import type { KeyRing } from '../identity/index.ts';
import type { Action, DeployableKind, DeploymentRequest, RequestEvent, StatusReport } from '../messages.ts';
import { goodToken, type SigningIdentity } from './identity.ts';
import type { Receiver } from './receiver.ts';

/** A failed check: what was observed, and what is required. */
export class NotConforming extends Error {}

export function assert(holds: boolean, message: string): asserts holds {
  if (!holds) throw new NotConforming(message);
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly text: string;
}

export interface Health {
  readonly broker: string;
  readonly version: string;
  readonly capabilities: readonly string[];
}

export interface Subject {
  readonly broker: string;
  readonly kind: DeployableKind;
  /** The object that the checks deploy, change and delete. */
  readonly object: { readonly uid: string; readonly name: string };
  get(path: string, token?: string | undefined): Promise<Answer>;
  /** Sends a request with a valid token, unless another one (or none) is given. */
  post(body: Buffer | RequestEvent, options?: { token?: string | undefined; key?: string }): Promise<Answer>;
  token(): Promise<string>;
  event(sketch?: {
    uid?: string;
    name?: string;
    generation?: number;
    attempt?: number;
    action?: Action;
    query?: number;
    data?: object;
  }): RequestEvent;
  /** Waits for a matching report of an object. */
  waitForReport(uid: string, what: string, matches: (report: StatusReport) => boolean): Promise<StatusReport>;
  readonly receiver: Receiver;
  readonly keys: KeyRing;
  readonly traceparent: string;
}

interface SubjectOptions {
  readonly url: string;
  readonly health: Health;
  readonly identity: SigningIdentity;
  readonly receiver: Receiver;
  readonly keys: KeyRing;
  readonly statusUrl: string;
  readonly kind: DeployableKind;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly namespace: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly timeoutMilliseconds: number;
}

const maxBytes = 1_000_000;

export function openSubject(options: SubjectOptions): Subject {
  const { url, health, identity, receiver, keys, timeoutMilliseconds } = options;
  const broker = health.broker;
  const token = () => goodToken(identity, broker);
  const object = { uid: randomUUID(), name: `conformance-${randomUUID().slice(0, 8)}` };
  const traceparent = newTraceparent();
  return {
    broker,
    kind: options.kind,
    object,
    receiver,
    keys,
    traceparent,
    token,
    get: (path, bearer) =>
      exchange(`${url}${path}`, 'GET', bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    async post(body, given = {}) {
      const bearer = 'token' in given ? given.token : await token();
      const isEvent = !Buffer.isBuffer(body);
      const headers = {
        'content-type': 'application/cloudevents+json',
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(isEvent ? { 'idempotency-key': given.key ?? body.id } : {}),
      };
      return exchange(`${url}/v1/deployments`, 'POST', headers, isEvent ? encodeEvent(body) : body);
    },
    event({
      uid = object.uid,
      name = object.name,
      generation = 1,
      attempt = 0,
      action = 'Deploy',
      query,
      data = {},
    } = {}) {
      const content: DeploymentRequest = {
        action,
        deploymentId: formatDeploymentId({ uid, generation, attempt }),
        broker,
        resource: {
          apiVersion: 'platform.company.com/v1',
          kind: options.kind,
          namespace: options.namespace,
          name,
          uid,
        },
        target: { name: 'conformance', provider: 'conformance', parameters: options.parameters },
        ...(action === 'Deploy' ? { spec: options.spec } : {}),
        replyTo: { statusUrl: options.statusUrl, encryptionKey: keys.encryptionKey() },
        ...data,
      };
      const cause = { traceparent, correlationid: object.uid };
      return requestEvent(content, { cause, ...(query === undefined ? {} : { query }) });
    },
    async waitForReport(uid, what, matches) {
      const deadline = performance.now() + timeoutMilliseconds;
      for (;;) {
        const found = receiver.reportsOf(uid).find(({ report }) => matches(report));
        if (found !== undefined) return found.report;
        if (performance.now() > deadline) {
          const reported = receiver.reportsOf(uid).map(({ report }) => `${report.deploymentId} ${report.phase}`);
          const refused = receiver.refusals.slice(-3).map((each) => `; a report was refused (${each})`);
          throw new NotConforming(
            `no report within ${Math.round(timeoutMilliseconds / 1000)} s that ${what}; received: ${reported.length === 0 ? 'none' : reported.slice(-5).join(', ')}${refused.join('')}`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
  };
}

export async function exchange(
  url: string,
  method: 'GET' | 'POST',
  headers: Record<string, string>,
  body?: Buffer,
): Promise<Answer> {
  const answer = await request(url, {
    method,
    headers,
    signal: AbortSignal.timeout(15_000),
    ...(body === undefined ? {} : { body }),
  });
  const text = (await readAtMost(answer.body, maxBytes)).toString('utf8');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  return { status: answer.statusCode, body: parsed, text };
}
