/**
 * Runs the platform's own admission gates without a cluster: owners are looked up among the files. An owner that is not among them may
 * exist in the cluster, so the checks that depend on it are skipped.
 */
import type { Facts } from '../../admission/index.ts';
import { API_VERSION, GROUP, type Team, teamOfNamespace, VERSION } from '../../api/index.ts';
import type { AdmissionRequest, Json, PolicyModel, PolicySet, World } from '../../policy/index.ts';
import { labelsOf, matchesType, pluralOf } from '../../policy/internal.ts';
import type { LocatedObject } from '../documents/index.ts';
import { type CheckResult, referenceOf } from './result.ts';

export interface PlatformGates {
  /** Returns the request with the mutations that the platform itself makes. */
  mutate(request: AdmissionRequest): Promise<AdmissionRequest>;
  judge(located: LocatedObject, request: AdmissionRequest): Promise<CheckResult[]>;
  /** The policies that are evaluated for this request; a Policy is never evaluated against itself. */
  setFor(request: AdmissionRequest, set: PolicySet): PolicySet;
}

/**
 * `concernsGates` reports whether the gates can have a result at all: loading them takes a third of the time of a short command.
 * Policies and exceptions have no owner: without labels of the platform and without a policy that matches them, they pass unchanged.
 */
export function concernsGates(objects: readonly Json[], { policies }: PolicySet): boolean {
  const ours = objects.filter(({ apiVersion }) => String(apiVersion).startsWith(`${GROUP}/`));
  const passes = (object: Json): boolean =>
    judges.includes(String(object.kind)) && !Object.keys(labelsOf(object)).some((key) => key.startsWith(`${GROUP}/`));
  if (!ours.every(passes)) return true;
  return ours.length > 0 && policies.some(({ model }) => judges.some((kind) => mayMatch(model, kind)));
}

const judges: readonly string[] = ['Policy', 'PolicyException'];

function mayMatch({ match }: PolicyModel, kind: string): boolean {
  const type = { group: GROUP, version: VERSION, kind, resource: pluralOf(kind), subresource: '' };
  return match.types === undefined || match.types.some((each) => matchesType(each, type));
}

/** `openGates` loads the gates, which are imported only when they are needed. */
export async function openGates(world: World, { policies }: PolicySet): Promise<PlatformGates> {
  // Excluding a policy re-indexes all others, so it is done only if one of them could match it.
  const areJudged = policies.some(({ model }) => mayMatch(model, 'Policy'));
  const { decide, gates, mutateForPlatform, ownerOf, resolveChain, unknownChain, withoutItself } = await import(
    '../../admission/index.ts'
  );
  /** Returns the object of that name; undefined if it certainly does not exist. */
  function named(kind: string, name: string, namespace?: string): Json | undefined {
    const found = world.find({
      apiVersion: API_VERSION,
      kind,
      name,
      ...(namespace === undefined ? {} : { namespace }),
    });
    if (found === undefined) throw notKnown;
    return found[0];
  }
  const lookup: Parameters<typeof resolveChain>[1] = {
    async team(name) {
      const namespace = (named('Team', name)?.spec as Json | undefined)?.namespace;
      return typeof namespace === 'string' ? { namespace } : undefined;
    },
    async application(namespace, name) {
      const application = named('Application', name, namespace);
      return application === undefined ? undefined : { owner: ownerOf(application, namespace) };
    },
    async teamOf(namespace) {
      const teams = world.find({ apiVersion: API_VERSION, kind: 'Team' }) ?? [];
      const named = teams.filter(({ spec }) => (spec as Json | undefined)?.namespace === namespace);
      return teamOfNamespace(namespace, named as unknown as Team[])?.metadata.name;
    },
  };
  async function factsOf({ kind, object, namespace, name }: AdmissionRequest): Promise<Facts> {
    if (object === undefined) return { chain: unknownChain, reconcilers: [] };
    try {
      const chain = await resolveChain({ kind: kind.kind, object, namespace, name }, lookup);
      return { chain, reconcilers: [] };
    } catch (error) {
      if (error !== notKnown) throw error;
      return { chain: unknownChain, reconcilers: [] };
    }
  }
  const concerns = ({ kind }: AdmissionRequest) => kind.group === GROUP;
  return {
    setFor: (request, set) => (areJudged ? withoutItself(set, request) : set),
    async mutate(request) {
      if (!concerns(request)) return request;
      const changed = mutateForPlatform(request, await factsOf(request));
      return changed === undefined ? request : { ...request, object: changed.object };
    },
    async judge(located, request) {
      if (!concerns(request)) return [];
      const { violations, warnings } = decide(request, gates, await factsOf(request));
      return [
        ...violations.map(
          ({ gate, code, field, message, next }): CheckResult => ({
            policy: gate,
            rule: code,
            resource: referenceOf(located, field),
            result: 'fail',
            message: next === '' ? message : `${message}. ${next}.`,
            denies: true,
            field,
            enforcement: 'Deny',
          }),
        ),
        ...warnings.map(
          (message): CheckResult => ({
            policy: message.slice(0, message.indexOf(':')),
            rule: '',
            resource: referenceOf(located),
            result: 'warn',
            message: message.slice(message.indexOf(':') + 2),
            denies: false,
            enforcement: 'Warn',
          }),
        ),
      ];
    },
  };
}

/** Thrown to leave an owner chain that cannot be resolved from the files; it is not an error. */
const notKnown: unique symbol = Symbol('not among the files');
