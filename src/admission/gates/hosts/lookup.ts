/** What the hosts gate needs to know: the hosts of Teams, and the Services that use a host. */
import { isObject, type Json } from '../../review/decode.ts';

export interface ReadHosts {
  /** Bypasses the cache. Used before a denial that depends on the result. */
  readonly live?: boolean;
  readonly signal?: AbortSignal;
}

/** Looks up whose hosts are whose. */
export interface HostLookup {
  teams(options?: ReadHosts): Promise<readonly TeamHosts[]>;
  /** Returns the hosts of the team of a namespace, or undefined if it has none. */
  teamOf(namespace: string, options?: ReadHosts): Promise<TeamHosts | undefined>;
  /** Returns the Services with this host, other than this one. */
  servicesWith(host: string, except: ServiceName, options?: ReadHosts): Promise<readonly HostUser[]>;
}

export interface TeamHosts {
  readonly name: string;
  readonly hosts: readonly string[];
}

interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

export interface HostUser extends ServiceName {
  readonly path: string;
  readonly createdAt: string;
}

/** What is known about the hosts of a request. */
export interface HostFacts {
  /** The Team that the Service belongs to; undefined if it belongs to none. */
  readonly team?: TeamHosts | undefined;
  /** Other Services with the same host. */
  readonly users?: readonly HostUser[];
  /** Other Teams with hosts. */
  readonly others?: readonly TeamHosts[];
}

/** The host and path of a Service with an enabled load balancer. */
interface Exposed {
  readonly host: string;
  readonly path: string;
}

/** `exposedBy` returns undefined if the Service has no host. */
export function exposedBy(object: Json | undefined): Exposed | undefined {
  const balancer = isObject(object?.spec) ? object.spec.loadBalancer : undefined;
  if (!isObject(balancer) || balancer.enabled === false || typeof balancer.host !== 'string') return undefined;
  return { host: balancer.host, path: typeof balancer.path === 'string' ? balancer.path : '/' };
}
