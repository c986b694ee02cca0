/**
 * Resolves the owner chain of an object: from `spec.owner` through Applications to a Team. It is resolved once per
 * request, before the gates, so that they are functions of values. Without a cluster (the CLI) it is unknown.
 */
import { isObject, type Json } from '../../review/decode.ts';
import type { HostLookup } from '../hosts/lookup.ts';

export interface ReadOwner {
  /** Bypasses the cache. Used before a denial that depends on the result. */
  readonly live?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Looks up owners in caches, with a live read on a miss. A failed read rejects, because an unknown owner must not be
 * admitted.
 */
export interface OwnerLookup {
  /** Returns the namespace of a Team, or undefined if the Team does not exist. */
  team(name: string, options?: ReadOwner): Promise<{ readonly namespace: string } | undefined>;
  /** Returns the owner of an Application, or undefined if the Application does not exist. */
  application(
    namespace: string,
    name: string,
    options?: ReadOwner,
  ): Promise<{ readonly owner: Owner | undefined } | undefined>;
  /** Looks up hosts; undefined if they are not checked. */
  readonly hosts?: HostLookup | undefined;
  /** Returns the name of the Team that owns the namespace, or undefined. */
  teamOf(namespace: string, options?: ReadOwner): Promise<string | undefined>;
}

export interface Owner {
  readonly kind: unknown;
  readonly name: unknown;
  /**
   * The namespace. For an Application it defaults to the namespace of the object; a Team is cluster-scoped and has
   * none.
   */
  readonly namespace: unknown;
  /** Set if the owner is not an object: its value is in `kind`. */
  readonly bare?: true;
}

export interface OwnerChain {
  /**
   * The end of the chain. `team`: resolved. `none`: the object has no owner. `missing`: an owner does not exist (yet).
   * `cycle`: the chain is circular. `long`: the chain is too long. `malformed`: an owner is invalid. `unknown`: the
   * chain was not resolved.
   */
  readonly end: 'team' | 'none' | 'missing' | 'cycle' | 'long' | 'malformed' | 'unknown';
  /** The namespace of the Team at the end. */
  readonly team?: string;
  /** The owners in the chain, human-readable: `Application team-backend/user-service`. */
  readonly path: readonly string[];
  /** The owner and the namespace, human-readable, if they belong to different teams. */
  readonly foreign?: { readonly owner: string; readonly namespace: string };
}

export const unknownChain: OwnerChain = { end: 'unknown', path: [] };

/** The maximum length of a chain. A longer one is denied. */
export const longestChain = 16;

interface ChainRequest {
  readonly kind: string;
  readonly object: Json;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export async function resolveChain(
  { kind, object, namespace, name }: ChainRequest,
  lookup: OwnerLookup,
  options: ReadOwner = {},
): Promise<OwnerChain> {
  // A Team ends its own chain.
  if (kind === 'Team') return ofTeam(object);
  const first = ownerOf(object, namespace);
  if (first === undefined) return { end: 'none', path: [] };
  const self = kind === 'Application' ? identity({ kind, name: nameOf(object) ?? name, namespace }) : '';
  const path: string[] = [];
  const seen = new Set([self]);
  let foreign: OwnerChain['foreign'];
  for (let owner = first; ; ) {
    if (!isResolvable(owner)) return { end: 'malformed', path, ...withForeign(foreign) };
    if (path.length === longestChain) return { end: 'long', path, ...withForeign(foreign) };
    path.push(describeOwner(owner));
    if (seen.has(identity(owner))) return { end: 'cycle', path };
    seen.add(identity(owner));
    if (owner.kind === 'Team') {
      const team = await lookup.team(owner.name, options);
      if (team === undefined) return { end: 'missing', path, ...withForeign(foreign) };
      foreign ??= await foreignTeam({ name: owner.name, ...team }, namespace, path, lookup, options);
      return { end: 'team', team: team.namespace, path, ...withForeign(foreign) };
    }
    foreign ??= await foreignApplication(owner, namespace, lookup, options);
    const application = await lookup.application(owner.namespace, owner.name, options);
    if (application === undefined) return { end: 'missing', path, ...withForeign(foreign) };
    if (application.owner === undefined) return { end: 'none', path, ...withForeign(foreign) };
    owner = application.owner;
  }
}

/** `ownerOf` reads `spec.owner` in any form, or returns undefined if it is not set. */
export function ownerOf(object: Json, requestNamespace: string | undefined): Owner | undefined {
  const owner = isObject(object.spec) ? object.spec.owner : undefined;
  if (owner === undefined || owner === null) return undefined;
  if (!isObject(owner)) return { kind: owner, name: undefined, namespace: undefined, bare: true };
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const written = owner.namespace === '' || owner.namespace === null ? undefined : owner.namespace;
  const own = owner.kind === 'Application' ? (metadata.namespace ?? requestNamespace) : undefined;
  return { kind: owner.kind, name: owner.name, namespace: written ?? own };
}

/** `Application team-backend/user-service`, `Team backend-team`. */
export function describeOwner({ kind, name, namespace }: Owner): string {
  return `${word(kind)} ${namespace === undefined ? '' : `${word(namespace)}/`}${word(name)}`;
}

/** Formats a string as it is and other values as JSON: `Team`, but `["Team"]`. */
const word = (value: unknown): string => (typeof value === 'string' ? bounded(value) : shown(value));

export const shown = (value: unknown): string =>
  value === undefined || value === null ? 'missing' : bounded(asText(value));

/** Exactly decoded JSON may contain integers that JSON.stringify rejects. */
export const asText = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? String(each) : each)) ?? 'missing';

/** A denial is no place for a megabyte that somebody has put where a word belongs. */
const bounded = (text: string): string => (text.length <= 80 ? text : `${text.slice(0, 79)}…`);

function ofTeam(object: Json): OwnerChain {
  const namespace = isObject(object.spec) ? object.spec.namespace : undefined;
  return typeof namespace === 'string' && namespace !== ''
    ? { end: 'team', team: namespace, path: [] }
    : { end: 'malformed', path: [] };
}

type Resolvable =
  | { readonly kind: 'Team'; readonly name: string; readonly namespace: unknown }
  | { readonly kind: 'Application'; readonly name: string; readonly namespace: string };

function isResolvable(owner: Owner): owner is Resolvable {
  if (typeof owner.name !== 'string' || owner.name === '') return false;
  if (owner.kind === 'Team') return true;
  return owner.kind === 'Application' && typeof owner.namespace === 'string' && owner.namespace !== '';
}

const identity = ({ kind, name, namespace }: Owner): string =>
  kind === 'Team' ? `Team ${word(name)}` : `${word(kind)} ${word(namespace)}/${word(name)}`;

const nameOf = ({ metadata }: Json): unknown => (isObject(metadata) ? metadata.name : undefined);

/**
 * Detects an owning Team that differs from the Team of the namespace. In a namespace without a Team any owner is
 * allowed.
 */
async function foreignTeam(
  team: { readonly name: string; readonly namespace: string },
  namespace: string | undefined,
  path: readonly string[],
  lookup: OwnerLookup,
  options: ReadOwner,
): Promise<OwnerChain['foreign']> {
  if (namespace === undefined) return undefined;
  const home = await lookup.teamOf(namespace, options);
  if (home === undefined || home === team.name) return undefined;
  return { owner: `${path.at(-1)} (namespace ${team.namespace})`, namespace: `${namespace}, which is of Team ${home}` };
}

/** Detects an owning Application in the namespace of a Team while the object is in another namespace. */
async function foreignApplication(
  owner: Extract<Resolvable, { kind: 'Application' }>,
  namespace: string | undefined,
  lookup: OwnerLookup,
  options: ReadOwner,
): Promise<OwnerChain['foreign']> {
  if (namespace === undefined || namespace === owner.namespace) return undefined;
  const team = await lookup.teamOf(owner.namespace, options);
  if (team === undefined) return undefined;
  return { owner: `${describeOwner(owner)}, of Team ${team}`, namespace };
}

const withForeign = (foreign: OwnerChain['foreign']) => (foreign === undefined ? {} : { foreign });
