/**
 * The hosts gate: a host belongs to the Team that lists it in `spec.hosts`, and to one Service of that team.
 *
 * A Service whose load balancer has a host of nobody or of another team is denied, as is a second Service with the same
 * host and path, and a Team whose hosts overlap with those of another. The lookups are in the facts.
 */
import { coversHost, GROUP, hostsOverlap, service, team } from '../../../api/index.ts';
import { type AdmissionRequest, isObject, type Json } from '../../review/decode.ts';
import { type Findings, nothing, type Violation } from '../../review/findings.ts';
import type { Facts, Gate } from '../gate.ts';
import { exposedBy, type HostFacts, type HostLookup, type HostUser, type ReadHosts } from './lookup.ts';

export const hostsGate: Gate = { name: 'hosts', evaluate: checkHosts };

/** `hostFactsOf` looks up the facts of a request; undefined for most requests, which have no hosts. */
export async function hostFactsOf(
  { kind, object, namespace = '', name = '' }: Pick<AdmissionRequest, 'kind' | 'object' | 'namespace' | 'name'>,
  lookup: HostLookup,
  options: ReadHosts,
): Promise<HostFacts | undefined> {
  if (kind.group !== GROUP) return undefined;
  if (kind.kind === team.kind) {
    if (hostsIn(object).length === 0) return undefined;
    return { others: (await lookup.teams(options)).filter((each) => each.name !== name) };
  }
  const exposed = kind.kind === service.kind ? exposedBy(object) : undefined;
  if (exposed === undefined) return undefined;
  return {
    // Not that of the owner: whoever can write in a namespace of no Team may name any owner there.
    team: await lookup.teamOf(namespace, options),
    users: await lookup.servicesWith(exposed.host, { namespace, name }, options),
  };
}

const hostsIn = (object: Json | undefined): readonly string[] => {
  const hosts = isObject(object?.spec) ? object.spec.hosts : undefined;
  return Array.isArray(hosts) ? hosts.filter((each) => typeof each === 'string') : [];
};

function checkHosts(request: AdmissionRequest, { hosts: facts }: Facts): Findings {
  const { operation } = request;
  if (facts === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return nothing;
  const violations = request.kind.kind === team.kind ? overlapping(request, facts) : foreign(request, facts);
  return violations.length === 0 ? nothing : { ...nothing, violations };
}

/** Only added hosts are checked, so that an overlap that was stored somehow does not block other updates. */
function overlapping({ object, oldObject }: AdmissionRequest, { others = [] }: HostFacts): Violation[] {
  const before = hostsIn(oldObject);
  return hostsIn(object).flatMap((host) => {
    if (before.includes(host)) return [];
    const taken = others.flatMap((other) =>
      other.hosts.filter((each) => hostsOverlap(each, host)).map((each) => `${each} of Team ${other.name}`),
    );
    return taken.length === 0
      ? []
      : [
          {
            gate: 'hosts',
            code: 'HostsOverlap',
            field: 'spec.hosts',
            message: `${host} overlaps with ${listed(taken)}`,
            next: 'Give each host to one Team only',
          },
        ];
  });
}

function foreign(request: AdmissionRequest, { team: own, users = [] }: HostFacts): Violation[] {
  const exposed = exposedBy(request.object);
  if (exposed === undefined) return [];
  const { host, path } = exposed;
  const violations: Violation[] = [];
  const of = { gate: 'hosts', field: 'spec.loadBalancer.host' };
  if (own?.hosts.some((pattern) => coversHost(pattern, host)) !== true) {
    violations.push({
      ...of,
      code: 'HostNotAllowed',
      message:
        own === undefined
          ? `${host} cannot be used in namespace ${request.namespace}, which belongs to no Team`
          : `${host} does not belong to Team ${own.name}, which has ${own.hosts.length === 0 ? 'no hosts' : listed(own.hosts)}`,
      next:
        own === undefined
          ? 'Create the Service in the namespace of a Team that has the host'
          : `Use a host of the team, or ask a platform administrator to add it to spec.hosts of Team ${own.name}`,
    });
  }
  const rival = users.find((user) => clashes(request, path, user));
  if (rival !== undefined) {
    // Who asks for the host of another team must not learn what that team runs.
    const user =
      rival.namespace === request.namespace
        ? `Service ${rival.namespace}/${rival.name} (path ${rival.path})`
        : 'a Service in another namespace';
    violations.push({
      ...of,
      code: 'HostTaken',
      message: `${host} with the path ${path} is already used by ${user}`,
      next: 'Use another host, or another path in the same namespace',
    });
  }
  return violations;
}

/**
 * Paths of one host can be divided within a namespace. Of two stored Services, the older keeps the host; who newly asks
 * for a host does not get it from anyone.
 */
function clashes({ namespace, object, oldObject }: AdmissionRequest, path: string, user: HostUser): boolean {
  if (user.namespace === namespace && user.path !== path) return false;
  const metadata = isObject(object?.metadata) ? object.metadata : {};
  const createdAt = typeof metadata.creationTimestamp === 'string' ? metadata.creationTimestamp : undefined;
  const [before, after] = [exposedBy(oldObject), exposedBy(object)];
  const asksNewly =
    createdAt === undefined || (oldObject !== undefined && (before?.host !== after?.host || before?.path !== path));
  if (asksNewly) return true;
  const ageOf = (at: string, of: string, name: string) => `${at} ${of}/${name}`;
  return (
    ageOf(user.createdAt, user.namespace, user.name) <
    ageOf(createdAt, namespace ?? '', typeof metadata.name === 'string' ? metadata.name : '')
  );
}

const mostListed = 5;
const listed = (all: readonly string[]): string =>
  `${all.slice(0, mostListed).join(', ')}${all.length > mostListed ? ` and ${all.length - mostListed} more` : ''}`;
