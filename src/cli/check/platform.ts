/**
 * The platform's own gates, without a cluster: who owns what is looked up among the files. An owner that is not there may be in the
 * cluster: then nothing that hangs on it is judged.
 */
import type { Facts } from '../../admission/index.ts';
import type { AdmissionRequest, Json, World } from '../../policy/index.ts';
import type { LocatedObject } from '../documents.ts';
import { type CheckResult, referenceOf } from './result.ts';

export interface PlatformGates {
  /** With what the platform itself would write into the object. */
  mutate(request: AdmissionRequest): Promise<AdmissionRequest>;
  judge(located: LocatedObject, request: AdmissionRequest): Promise<CheckResult[]>;
}

/** Loaded only where there is an object of the platform: the room is not small. */
export async function openGates(world: World): Promise<PlatformGates> {
  const { decide, gates, mutateForPlatform, ownerOf, resolveChain, unknownChain } = await import(
    '../../admission/index.ts'
  );
  const { GROUP, API_VERSION } = await import('../../api/index.ts');
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
