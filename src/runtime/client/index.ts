/**
 * The client interface: every request that the rest of the project makes of an API server, and what is built from such requests.
 *
 * In: resources named by group, version and plural. Out: objects and typed errors. It must not know how requests are sent:
 * `transport` implements the interface over HTTP.
 */
export { clientUntil } from './bound-client.ts';
export type {
  Client,
  Fence,
  ListOptions,
  Patch,
  RawRequest,
  RawResponse,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';
export {
  type DefinitionLike,
  discover,
  type ResourceMapping,
  resourceMapping,
  type ServedResource,
  servedByDefinition,
} from './discovery.ts';
export { eachObject } from './pages.ts';
export { isAllowed, type Right } from './self-access.ts';
