/** An HTTPS webhook with configurable behaviour: late, denying, with another certificate, or silent. */
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { issueAuthority, issueLeaf, type KeyPair } from '../../../src/runtime/internal.ts';

const hour = 3_600_000;

export interface TestWebhook {
  readonly url: string;
  readonly authority: KeyPair;
  /** Requests for admission, as the API server sent them. */
  readonly asked: { readonly kind: string; readonly dryRun: boolean; readonly path: string }[];
  answerAfter(milliseconds: number): void;
  refuse(refused: boolean): void;
  /** Serves with another certificate from now on, also to whom it knows. */
  present(leaf: KeyPair): void;
  stop(): Promise<void>;
}

export const validAuthority = (): KeyPair =>
  issueAuthority({ now: Date.now(), validMilliseconds: 24 * hour, backdateMilliseconds: hour });

export const expiredAuthority = (): KeyPair =>
  issueAuthority({ now: Date.now() - 48 * hour, validMilliseconds: 24 * hour, backdateMilliseconds: hour });

export const leafOf = (authority: KeyPair): KeyPair =>
  issueLeaf(authority, {
    names: ['127.0.0.1'],
    now: Date.now(),
    validMilliseconds: 12 * hour,
    backdateMilliseconds: hour / 2,
  });

export const expiredLeafOf = (authority: KeyPair): KeyPair =>
  issueLeaf(authority, {
    names: ['127.0.0.1'],
    now: Date.now() - hour / 2,
    validMilliseconds: hour / 4,
    backdateMilliseconds: hour / 8,
  });

export async function startWebhook(): Promise<TestWebhook> {
  const authority = validAuthority();
  const asked: { kind: string; dryRun: boolean; path: string }[] = [];
  let delay = 0;
  let refused = false;
  const { certificate, key } = leafOf(authority);
  const server: Server = createServer({ cert: certificate, key }, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      const { request: review } = JSON.parse(text) as {
        request: { uid: string; dryRun?: boolean; kind: { kind: string } };
      };
      asked.push({
        kind: review.kind.kind,
        dryRun: review.dryRun === true,
        path: new URL(request.url ?? '', 'https://-').pathname,
      });
      const answer = {
        uid: review.uid,
        allowed: !refused,
        ...(refused ? { status: { message: 'not this one' } } : {}),
      };
      const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer });
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(body), delay);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    authority,
    asked,
    answerAfter(milliseconds) {
      delay = milliseconds;
    },
    refuse(value) {
      refused = value;
    },
    present(leaf) {
      server.setSecureContext({ cert: leaf.certificate, key: leaf.key });
      server.closeAllConnections();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
