/**
 * Who may read `/metrics`: names of policies, teams and clusters are not for everyone on the network. As with other components of
 * Kubernetes, a caller sends a bearer token, and the API server says whose it is and whether that user may `get` the path `/metrics`.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Client } from '../client/client.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { KubernetesObject, Resource } from '../objects/object.ts';
import type { Logger } from '../telemetry/logger.ts';
import { TokenBucket } from '../workqueue/backoff.ts';
import { Problem, retryAfter } from './problem.ts';

/** Decides about a request by its `Authorization` header: undefined if it may read the metrics, otherwise the answer. */
export type MetricsAccess = (authorization: string | undefined) => Promise<Problem | undefined>;

interface ReviewedAccessOptions {
  readonly client: Pick<Client, 'create'>;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** An answer is used again for so long: a revoked token counts at most this long. */
const allowedMilliseconds = 60_000;
const refusedMilliseconds = 10_000;
const mostTokens = 100;
const mostCharacters = 16_384;
/** Reviews of unknown tokens, which anyone can make up: each costs the API server two requests. */
const unknownTokens = { tokensPerSecond: 1, burst: 10 };
const timeoutMilliseconds = 5_000;

/** `reviewedAccess` asks the API server, with a TokenReview and a SubjectAccessReview. */
export function reviewedAccess({ client, log, clock = systemClock }: ReviewedAccessOptions): MetricsAccess {
  const answers = new Map<string, { answer: Promise<Problem | undefined>; allowed: boolean; until: number }>();
  const bucket = new TokenBucket(unknownTokens, () => clock.monotonic());

  async function ask(token: string): Promise<Problem | undefined> {
    try {
      return await review(client, token);
    } catch (error) {
      log.warn('cannot check who may read the metrics; kidp needs to create tokenreviews and subjectaccessreviews', {
        error,
      });
      return new Problem(503, 'unavailable', 'access cannot be checked now', { headers: retryAfter(5_000) });
    }
  }

  return async (authorization) => {
    const token = bearerOf(authorization);
    if (token === undefined) return unauthenticated('missing-token', 'send a token: Authorization: Bearer TOKEN');
    const key = digestOf(token).toString('base64');
    const known = answers.get(key);
    const now = clock.monotonic();
    if (known !== undefined && now < known.until) return known.answer;
    // A token that was allowed before is not held up by others that are made up.
    if (known?.allowed !== true && !bucket.tryTake()) {
      return new Problem(429, 'rate-limit', 'too many unknown tokens: retry later', { headers: retryAfter(5_000) });
    }
    const answer = ask(token);
    const entry = { answer, allowed: known?.allowed === true, until: now + refusedMilliseconds };
    answers.delete(key);
    answers.set(key, entry);
    forget(answers);
    entry.allowed = (await answer) === undefined;
    if (entry.allowed) entry.until = now + allowedMilliseconds;
    return answer;
  };
}

/** Forgets refused tokens first, so that made-up ones do not displace those that are used. */
function forget(answers: Map<string, { readonly allowed: boolean }>): void {
  if (answers.size <= mostTokens) return;
  const [oldest] = answers.keys();
  const refused = [...answers].find(([, { allowed }]) => !allowed)?.[0] ?? oldest;
  if (refused !== undefined) answers.delete(refused);
}

/** `tokenAccess` compares with a token of the administrator's own, where there is no API server to ask. */
export const tokenAccess =
  (expected: () => string): MetricsAccess =>
  async (authorization) => {
    const token = bearerOf(authorization);
    if (token === undefined) return unauthenticated('missing-token', 'send a token: Authorization: Bearer TOKEN');
    // Digests have one length, which `timingSafeEqual` needs.
    return timingSafeEqual(digestOf(token), digestOf(expected())) ? undefined : wrongToken();
  };

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

function bearerOf(authorization = ''): string | undefined {
  if (authorization.length > mostCharacters) return undefined;
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

const unauthenticated = (code: string, message: string): Problem =>
  new Problem(401, code, message, { headers: { 'www-authenticate': 'Bearer realm="kidp"' } });
const wrongToken = (): Problem => unauthenticated('invalid-token', 'the token is not accepted');

interface Review extends KubernetesObject {
  spec: object;
  status?: {
    authenticated?: boolean;
    user?: { username?: string; uid?: string; groups?: string[]; extra?: object };
    allowed?: boolean;
  };
}

const reviewsOf = (group: string, plural: string, kind: string): Resource => ({
  group,
  version: 'v1',
  plural,
  kind,
  namespaced: false,
});
const tokenReviews = reviewsOf('authentication.k8s.io', 'tokenreviews', 'TokenReview');
const accessReviews = reviewsOf('authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview');

async function review(client: Pick<Client, 'create'>, token: string): Promise<Problem | undefined> {
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  const ask = async (resource: Resource, spec: object) => {
    const { group, version, kind } = resource;
    // A review has no name: it is answered, not stored.
    const body: Review = { apiVersion: `${group}/${version}`, kind, metadata: {} as Review['metadata'], spec };
    return (await client.create<Review>(resource, body, { signal })).status;
  };
  const { authenticated, user = {} } = (await ask(tokenReviews, { token })) ?? {};
  if (authenticated !== true || user.username === undefined) return wrongToken();
  const { username, ...more } = user;
  const nonResourceAttributes = { path: '/metrics', verb: 'get' };
  const access = await ask(accessReviews, { user: username, ...more, nonResourceAttributes });
  if (access?.allowed === true) return undefined;
  return new Problem(
    403,
    'forbidden',
    'the user is not allowed to get /metrics: bind the ClusterRole kidp-metrics-reader',
  );
}
