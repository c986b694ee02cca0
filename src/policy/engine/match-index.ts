/**
 * The index of a policy set: it finds the policies that can match a request without evaluating the others.
 *
 * Policies with the same selector form a group, which is matched once. A lookup by resource type and operation returns
 * one index for each view of the object (as it was sent, or as the Pod of a template). An index stores a group under
 * one property that matching requests must have: a label, a label key, a namespace or a name. Groups that require none
 * of these are always candidates.
 */
import { type Glob, globs, isGlob } from '../match/globs.ts';
import type { Labels } from '../match/labels.ts';
import { CompiledMatch, type MatchAnswer } from '../match/match.ts';
import type { Subject } from '../match/subject.ts';
import { matchesType, type RequestType } from '../match/types.ts';
import type { MatchModel, TypeMatch } from '../model.ts';
import type { Operation } from '../request.ts';
import type { CompiledPolicy } from './compile.ts';
import { controllerTypes } from './pods.ts';
import { type SharedRules, sharedRulesOf } from './shared-rules.ts';

/** Policies with the same selector, in the order of the set. */
export class MatchGroup {
  readonly match: CompiledMatch;
  readonly exclude: CompiledMatch | undefined;
  readonly alsoMatch: CompiledMatch | undefined;
  readonly policies: CompiledPolicy[] = [];
  /** The position of each policy in the set. */
  readonly positions: number[] = [];
  #sharedRules: SharedRules | undefined;

  constructor(match: CompiledMatch, exclude: CompiledMatch | undefined, alsoMatch: CompiledMatch | undefined) {
    this.match = match;
    this.exclude = exclude;
    this.alsoMatch = alsoMatch;
  }

  /** The rules of the group, without duplicate expressions; computed on first use or by `prepare`. */
  get sharedRules(): SharedRules {
    this.#sharedRules ??= sharedRulesOf(this.policies, this.positions);
    return this.#sharedRules;
  }

  answer(subject: Subject): MatchAnswer {
    let answer = this.match.answer(subject);
    if (answer === false) return false;
    if (this.alsoMatch !== undefined) answer = both(answer, this.alsoMatch.answer(subject));
    if (answer === false || this.exclude === undefined) return answer;
    const excluded = this.exclude.answer(subject);
    return both(answer, typeof excluded === 'boolean' ? !excluded : excluded);
  }
}

function both(left: MatchAnswer, right: MatchAnswer): MatchAnswer {
  if (left === false || right === false) return false;
  return left === true ? right : left;
}

/** The index of the groups for one resource type, operation and view of the object. */
export class MatchIndex {
  /** The path of the Pod template of a workload controller; undefined for the object as it was sent. */
  readonly path: string | undefined;
  readonly #always: MatchGroup[] = [];
  readonly #byLabel = new Map<string, MatchGroup[]>();
  readonly #byNamespace = new Map<string, MatchGroup[]>();
  readonly #byName = new Map<string, MatchGroup[]>();
  readonly #byPattern: { readonly group: MatchGroup; readonly fits: Glob }[] = [];
  /** A cache of the entries of `#byPattern` by namespace: there are few namespaces and many requests. */
  readonly #fitting = new Map<string, readonly MatchGroup[]>();

  constructor(path: string | undefined) {
    this.path = path;
  }

  add(group: MatchGroup): void {
    const { objectSelector, namespaces, names } = group.match.model;
    const label = demandedLabel(objectSelector);
    if (label !== undefined) store(this.#byLabel, label, group);
    else if (isPlain(namespaces)) store(this.#byNamespace, namespaces, group);
    else if (isPlain(names)) store(this.#byName, names, group);
    else if (namespaces !== undefined) this.#byPattern.push({ group, fits: globs(namespaces) });
    else this.#always.push(group);
  }

  /** Returns the groups that can match, without duplicates. */
  candidates(subject: Subject): readonly MatchGroup[] {
    const stored = this.#byLabel.size + this.#byNamespace.size + this.#byName.size + this.#byPattern.length;
    if (stored === 0) return this.#always;
    const found: MatchGroup[] = [...this.#always];
    this.#labelled(subject.labels, found);
    if (subject.oldLabels !== undefined) this.#labelled(subject.oldLabels, found);
    found.push(...(this.#byNamespace.get(subject.namespace) ?? []), ...(this.#byName.get(subject.name) ?? []));
    if (this.#byPattern.length > 0) found.push(...this.#inNamespace(subject.namespace));
    return found.length < 2 ? found : [...new Set(found)];
  }

  #inNamespace(namespace: string): readonly MatchGroup[] {
    let groups = this.#fitting.get(namespace);
    if (groups === undefined) {
      groups = this.#byPattern.flatMap(({ group, fits }) => (fits(namespace) ? [group] : []));
      if (this.#fitting.size >= MAX_NAMESPACES) this.#fitting.clear();
      this.#fitting.set(namespace, groups);
    }
    return groups;
  }

  #labelled(labels: Labels, found: MatchGroup[]): void {
    if (this.#byLabel.size === 0) return;
    for (const key of Object.keys(labels)) {
      found.push(...(this.#byLabel.get(key) ?? []), ...(this.#byLabel.get(`${key}=${String(labels[key])}`) ?? []));
    }
  }
}

/** Returns a label that selected objects must have: `key=value` for each allowed value, or `key`. */
function demandedLabel(selector: MatchModel['objectSelector']): readonly string[] | undefined {
  const [exact] = Object.entries(selector?.matchLabels ?? {});
  if (exact !== undefined) return [`${exact[0]}=${exact[1]}`];
  const requirements = selector?.matchExpressions ?? [];
  const listed = requirements.find(({ operator }) => operator === 'In');
  if (listed !== undefined) return (listed.values ?? []).map((value) => `${listed.key}=${value}`);
  const present = requirements.find(({ operator }) => operator === 'Exists');
  return present === undefined ? undefined : [present.key];
}

const isPlain = (patterns: readonly string[] | undefined): patterns is readonly string[] =>
  patterns !== undefined && !patterns.some(isGlob);

function store(map: Map<string, MatchGroup[]>, keys: readonly string[], group: MatchGroup): void {
  for (const key of new Set(keys)) {
    const stored = map.get(key);
    if (stored === undefined) map.set(key, [group]);
    else stored.push(group);
  }
}

const MAX_TYPES = 2048;
const MAX_NAMESPACES = 1024;

/** The indexes of a set. They are built when a resource type is first requested, because a set may be replaced soon. */
export class PolicyIndex {
  readonly #views: readonly { readonly path: string | undefined; readonly groups: readonly MatchGroup[] }[];
  readonly #indexes = new Map<string, readonly MatchIndex[]>();

  constructor(policies: readonly CompiledPolicy[]) {
    this.#views = groupsOf(policies);
  }

  of(type: RequestType, operation: Operation | undefined): readonly MatchIndex[] {
    const key = `${type.group}/${type.version}/${type.kind}/${type.resource}/${type.subresource}/${type.parentKind ?? ''} ${operation ?? ''}`;
    let indexes = this.#indexes.get(key);
    if (indexes === undefined) {
      indexes = this.#make(type, operation);
      // Kinds come from requests, so the cache is bounded.
      if (this.#indexes.size >= MAX_TYPES) this.#indexes.clear();
      this.#indexes.set(key, indexes);
    }
    return indexes;
  }

  /** Computes ahead of time what the first request of each kind would have to wait for. */
  prepare(): void {
    for (const { groups } of this.#views) for (const group of groups) void group.sharedRules;
  }

  #make(type: RequestType, operation: Operation | undefined): readonly MatchIndex[] {
    const indexes: MatchIndex[] = [];
    for (const { path, groups } of this.#views) {
      const fitting = groups.filter(({ match: { model } }) => canMatch(model, type, operation));
      if (fitting.length === 0) continue;
      const index = new MatchIndex(path);
      for (const group of fitting) index.add(group);
      indexes.push(index);
    }
    return indexes;
  }
}

function canMatch({ types, operations }: MatchModel, type: RequestType, operation: Operation | undefined): boolean {
  if (operation !== undefined && operations !== undefined && !operations.includes(operation)) return false;
  return types === undefined || types.some((each) => matchesType(each, type, operation));
}

function groupsOf(policies: readonly CompiledPolicy[]) {
  const views = new Map<string | undefined, Map<string, MatchGroup>>();
  const add = (
    path: string | undefined,
    policy: CompiledPolicy,
    position: number,
    types?: readonly TypeMatch[],
  ): void => {
    let groups = views.get(path);
    if (groups === undefined) {
      groups = new Map();
      views.set(path, groups);
    }
    const key = types === undefined ? matchKey(policy) : `${matchKey(policy)}${JSON.stringify(types)}`;
    let group = groups.get(key);
    if (group === undefined) {
      const match = types === undefined ? policy.match : new CompiledMatch({ ...policy.model.match, types });
      group = new MatchGroup(match, policy.exclude, policy.alsoMatch);
      groups.set(key, group);
    }
    group.policies.push(policy);
    group.positions.push(position);
  };
  policies.forEach((policy, position) => {
    add(undefined, policy, position);
    const { podControllers } = policy.model;
    if (podControllers === undefined) return;
    for (const [path, types] of controllerTypes(podControllers)) add(path, policy, position, types);
  });
  return [...views].map(([path, groups]) => ({ path, groups: [...groups.values()] }));
}

const KEYS = new WeakMap<CompiledPolicy, string>();

/** The key is cached by policy, because sets are rebuilt often and policies are compiled rarely. */
function matchKey(policy: CompiledPolicy): string {
  let key = KEYS.get(policy);
  if (key === undefined) {
    const { match, exclude, alsoMatch } = policy.model;
    key = JSON.stringify([match, exclude, alsoMatch]);
    KEYS.set(policy, key);
  }
  return key;
}
