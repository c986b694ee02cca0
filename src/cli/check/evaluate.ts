/**
 * Evaluates one object with the decision functions of admission, in its order: mutations, the platform's gates, policies. Request data
 * that no flag provides stays unknown: rules that depend on it are skipped, never guessed.
 */
import { GROUP } from '../../api/index.ts';
import type { AuthorizationAnswer } from '../../cel/index.ts';
import {
  type AdmissionRequest,
  decide,
  decideWithAuthorizer,
  type Json,
  type MutationDecision,
  mutate,
  type PolicyDecision,
  type PolicySet,
  type RequestPart,
  type RuleResult,
  type World,
} from '../../policy/index.ts';

import type { LocatedObject } from '../documents/index.ts';
import { type Schemas, withDefaults } from './defaults.ts';
import type { PlatformGates } from './gates.ts';
import { judgesOthers } from './inventory.ts';
import type { Settings } from './options.ts';
import { kindOf } from './plurals.ts';
import { type CheckResult, identityOf, referenceOf, resultOf } from './result.ts';

type Ask = Parameters<typeof decideWithAuthorizer>[3];

export interface Bench {
  readonly set: PolicySet;
  readonly world: World;
  readonly settings: Settings;
  /** The current objects by identity; undefined if no current state was given. */
  readonly before?: ReadonlyMap<string, Json>;
  /** The platform's gates, if there is an object for them. */
  readonly platform?: PlatformGates;
  /** Answers `authorizer` checks. */
  readonly ask?: Ask;
  /** Plurals from files or a cluster, by `group/Kind`. */
  readonly plurals: ReadonlyMap<string, string>;
  readonly schemas: Schemas;
  /** Whether to include rules that pass. */
  readonly passes: boolean;
}

export async function judge(located: LocatedObject, open: Bench): Promise<CheckResult[]> {
  const asked = requestFor(located, open);
  const bench = open.platform === undefined ? open : { ...open, set: open.platform.setFor(asked, open.set) };
  const { request, results: mutations, changedBy } = await mutated(asked, bench);
  const decision = await decided(request, bench);
  const found = [...mutations, ...decision.results].map((result) => resultOf(located, result));
  if (bench.passes) found.unshift(...changedBy.map((policy) => changed(located, policy)));
  const gates = bench.platform === undefined ? [] : await bench.platform.judge(located, request);
  const matched = decision.matched.length + mutations.length + changedBy.length > 0;
  if (matched || judgesOthers(located)) return [...gates, ...found];
  return [...gates, ...found, unmatched(located, gates.length === 0 && isOurs(located))];
}

/** A policy that mutates has no rule to hold: what it does is to change the object before the others see it. */
function changed(located: LocatedObject, policy: string): CheckResult {
  const message = 'changes the object before it is judged';
  return { policy, rule: '', resource: referenceOf(located), result: 'pass', message, denies: false };
}

function unmatched(located: LocatedObject, gatesHeld: boolean): CheckResult {
  return {
    policy: '',
    rule: '',
    resource: referenceOf(located),
    result: 'skip',
    message: gatesHeld
      ? 'no policy matched this object; ownership and labels are in order'
      : 'no policy matched this object',
    denies: false,
  };
}

const isOurs = ({ object }: LocatedObject): boolean => object.apiVersion.startsWith(`${GROUP}/`);

interface Mutated {
  readonly request: AdmissionRequest;
  readonly results: readonly RuleResult[];
  readonly changedBy: readonly string[];
}

async function mutated(asked: AdmissionRequest, bench: Bench): Promise<Mutated> {
  const { set, platform } = bench;
  const nothing = { results: [], changedBy: [] };
  if (asked.object === undefined) return { request: asked, ...nothing };
  const labelled = platform === undefined ? asked : await platform.mutate(asked);
  if (!set.policies.some(({ model }) => model.mutations.length > 0)) return { request: labelled, ...nothing };
  const { object, changed, results, policies } = await mutateAsking(labelled, bench);
  return {
    request: changed ? { ...labelled, object } : labelled,
    results: results.filter(({ result }) => result !== 'pass'),
    changedBy: policies,
  };
}

/** A mutation may ask more once it has an answer; one that never comes to an end is not waited for. */
const MOST_ROUNDS = 8;

async function mutateAsking(request: AdmissionRequest, { set, world, ask }: Bench): Promise<MutationDecision> {
  const answers = new Map<string, AuthorizationAnswer>();
  const asking: World = { ...world, authorize: (question) => answers.get(JSON.stringify(question)) };
  for (let round = 1; ; round += 1) {
    const decision = mutate(set, request, asking);
    if (decision.questions.length === 0 || ask === undefined || round === MOST_ROUNDS) return decision;
    const given = await ask(decision.questions);
    for (const [index, question] of decision.questions.entries()) {
      answers.set(JSON.stringify(question), given[index] ?? { allowed: false, error: 'there was no answer' });
    }
  }
}

async function decided(request: AdmissionRequest, { set, world, ask, passes }: Bench): Promise<PolicyDecision> {
  const decision = decide(set, request, world, { passes });
  if (decision.questions.length === 0 || ask === undefined) return decision;
  return decideWithAuthorizer(set, request, world, ask, { passes });
}

/** The request that an apply of this object would be, as far as it is known. */
export function requestFor(located: LocatedObject, bench: Bench): AdmissionRequest {
  const { settings, before, ask } = bench;
  const object = withDefaults(located.object, bench.schemas);
  const stored = before?.get(identityOf(object));
  const old = stored === undefined ? undefined : withDefaults(stored, bench.schemas);
  const known = settings.operation ?? (before === undefined ? undefined : old === undefined ? 'CREATE' : 'UPDATE');
  const operation = known ?? 'CREATE';
  const unknown: RequestPart[] = [];
  if (known === undefined) unknown.push('operation');
  if (known === undefined || (known === 'UPDATE' && old === undefined)) unknown.push('oldObject');
  if (settings.user === undefined) unknown.push('userInfo');
  if (ask === undefined) unknown.push('authorizer');
  const { namespace, name } = object.metadata;
  const { group, version, kind, plural } = kindOf(object, bench.plurals);
  return {
    uid: 'kidp-check',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    ...(name === undefined ? {} : { name }),
    // The request for a Namespace is in that namespace.
    ...(group === '' && object.kind === 'Namespace'
      ? { namespace: name }
      : namespace === undefined
        ? {}
        : { namespace }),
    operation,
    ...(settings.user === undefined ? {} : { userInfo: settings.user }),
    ...(operation === 'DELETE' ? { oldObject: old ?? object } : { object }),
    ...(operation === 'UPDATE' && old !== undefined ? { oldObject: old } : {}),
    dryRun: true,
    unknown,
  };
}
