/**
 * The platform's own gates, without a cluster: who owns what is looked up among the files. An owner that is not there may be in the
 * cluster: then nothing that hangs on it is judged.
 */
import type { Facts } from '../../admission/index.ts';
import { API_VERSION, GROUP, VERSION } from '../../api/index.ts';
import type { AdmissionRequest, Json, PolicyModel, PolicySet, World } from '../../policy/index.ts';
import { labelsOf, matchesType, pluralOf } from '../../policy/internal.ts';
import type { LocatedObject } from '../documents/index.ts';
import { type CheckResult, referenceOf } from './result.ts';

export interface PlatformGates {
  /** With what the platform itself would write into the object. */
  mutate(request: AdmissionRequest): Promise<AdmissionRequest>;
  judge(located: LocatedObject, request: AdmissionRequest): Promise<CheckResult[]>;
  /** The policies that are evaluated for this request; a Policy is never evaluated against itself. */
  setFor(request: AdmissionRequest, set: PolicySet): PolicySet;
}

/**
 * Whether the gates could say anything at all: loading them takes a third of a short command. Policies and exceptions have no owner,
 * so that without labels of ours on them, and without a policy that looks at what the platform writes into them, they pass untouched.
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

/** Loaded only where they are needed. */
export async function openGates(world: World, { policies }: PolicySet): Promise<PlatformGates> {
  // Excluding a policy re-indexes all others, so it is done only if one of them could match it.
  const areJudged = policies.some(({ model }) => mayMatch(model, 'Policy'));
  const { decide, gates, mutateForPlatform, ownerOf, resolveChain, unknownChain, withoutItself } = await import(
    '../../admission/index.ts'
  );
  /** The one object of that name; undefined where it is known that there is none. */
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
      const team = teams.find(({ spec }) => (spec as Json | undefined)?.namespace === namespace);
      return (team?.metadata as { name?: string } | undefined)?.name;
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

/** Not an error: thrown to get out of a chain that cannot be followed here. */
const notKnown: unique symbol = Symbol('not among the files');
