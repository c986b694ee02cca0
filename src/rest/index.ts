/**
 * The REST API of docs/requirements.md, 002: a thin façade over the kinds of rollouts.
 *
 * In: requests with a token. Out: the same request to the API server, impersonating the user of the token, and its
 * answer in the shape of the requirement. It must not decide what RBAC, admission or a reconciler decides, and it
 * stores nothing.
 */
export { roleGroups } from './caller.ts';
export type { TokenKeys } from './keys.ts';
export type { AuthenticationOptions, RestOptions } from './options.ts';
export { type Rest, startRest } from './server.ts';
