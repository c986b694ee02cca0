/**
 * The HTTP servers of this project share this module: a bounded socket whose certificate is replaced while it runs, problem details
 * for errors, a fast path for admission reviews, and an orderly shutdown.
 *
 * In: a request handler or a fastify app (fastify is passed in, not loaded). Out: a listening server. It must not know what is served.
 */
export { portError, reachableHost } from './address.ts';
export { listen, type MadeApp, makeApp, type Served, sendProblem } from './app.ts';
export type { Caller, ClientAuthority } from './clients.ts';
export { backlog } from './handshakes.ts';
export { defaultLimits, type ListenerLimits, makeListener, type ServingCertificate } from './listener.ts';
export { type MetricsAccess, reviewedAccess, tokenAccess } from './metrics-access.ts';
export type { AnswerPost, PostAnswer } from './posts.ts';
export { Problem, retryAfter } from './problem.ts';
export { type Placed, Shares } from './shares.ts';
