/**
 * Builds the policy set in force from the stored Policies and PolicyExceptions. Unchanged policies keep their compiled
 * form.
 *
 * A Policy that no longer compiles (it was written while the webhook was unavailable, or before an upgrade) is not in
 * force, and neither is its earlier version: a replica that starts now could not know it, and all replicas must give
 * the same result. Its status reports that. A Policy whose params or context are not synced yet is pending, and its
 * earlier version stays in force meanwhile. If they are not available at all, the Policy is not delayed: its rules fail
 * according to its failurePolicy.
 */
import {
  type CompiledException,
  type CompiledPolicy,
  type ObjectQuery,
  type PolicyIssue,
  type PolicyModel,
  type PolicySet,
  policySet,
  readException,
  readPolicy,
} from '../../policy/index.ts';
import {
  compileExceptionSteps,
  compileSteps,
  completed,
  type PolicyState,
  preparePolicy,
  type Steps,
} from '../../policy/internal.ts';
import { formatKey, keyOf, type UnknownObject } from '../../runtime/index.ts';
import type { NeedState } from './watches.ts';

interface RegistryOptions {
  readonly platformNamespace: string;
  readonly excludedNamespaces: readonly string[];
  readonly exceptionNamespaces: readonly string[];
  readonly needState: (need: ObjectQuery) => NeedState;
}

/** An object whose expressions are compiled in steps. */
interface Compiling<T> {
  readonly object: UnknownObject;
  steps?: Steps<T>;
  compiled?: T;
}

interface CompiledEntry {
  readonly model?: PolicyModel;
  readonly policy?: CompiledPolicy;
  readonly issues: readonly PolicyIssue[];
}

interface Entry extends Compiling<CompiledEntry> {
  readonly resourceVersion: string;
  waitsFor: readonly ObjectQuery[];
  inForce?: CompiledPolicy;
}

interface CompiledExceptionEntry {
  readonly exception?: CompiledException;
  readonly issues: readonly PolicyIssue[];
}

type ExceptionEntry = Compiling<CompiledExceptionEntry>;

interface Built {
  readonly policies: readonly CompiledPolicy[];
  readonly exceptions: readonly CompiledException[];
  readonly set: PolicySet;
}

export class PolicyRegistry {
  readonly #options: RegistryOptions;
  readonly #policies = new Map<string, Entry>();
  readonly #exceptions = new Map<string, ExceptionEntry>();
  #built: Built | undefined;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /**
   * Adds or updates a Policy. Returns whether the policy set may have changed; changes of status and labels do not
   * count.
   */
  put(object: UnknownObject): boolean {
    const known = this.#policies.get(object.metadata.name);
    if (known !== undefined && isSame(known.object, object)) return false;
    this.#policies.set(object.metadata.name, {
      object,
      resourceVersion: object.metadata.resourceVersion ?? '',
      waitsFor: [],
      ...(known?.inForce === undefined ? {} : { inForce: known.inForce }),
    });
    return true;
  }

  remove(name: string): void {
    this.#policies.delete(name);
  }

  putException(object: UnknownObject): boolean {
    const key = formatKey(keyOf(object));
    const known = this.#exceptions.get(key);
    if (known !== undefined && isSame(known.object, object)) return false;
    this.#exceptions.set(key, { object });
    return true;
  }

  removeException(object: UnknownObject): void {
    this.#exceptions.delete(formatKey(keyOf(object)));
  }

  /**
   * Compiles new policies and exceptions for about the given time, so that requests are served in between. Returns false
   * if some are left.
   */
  compileFor(milliseconds: number): boolean {
    const until = performance.now() + milliseconds;
    const compileAll = <T>(entries: Iterable<Compiling<T>>, begin: (object: UnknownObject) => Steps<T>): boolean => {
      for (const entry of entries) {
        if (entry.compiled !== undefined) continue;
        entry.steps ??= begin(entry.object);
        for (let step = entry.steps.next(); ; step = entry.steps.next()) {
          if (step.done === true) {
            entry.compiled = step.value;
            break;
          }
          if (performance.now() >= until) return false;
        }
        if (performance.now() >= until) return false;
      }
      return true;
    };
    return compileAll(this.#policies.values(), policySteps) && compileAll(this.#exceptions.values(), exceptionSteps);
  }

  /** Builds the current set. It returns the previous set if nothing relevant has changed. */
  build(): PolicySet {
    for (const entry of this.#policies.values()) {
      const { policy, model } = compiledOf(entry);
      entry.waitsFor = model === undefined ? [] : this.#pending(model);
      if (policy === undefined) delete entry.inForce;
      else if (entry.waitsFor.length === 0) entry.inForce = policy;
    }
    const { platformNamespace, excludedNamespaces, exceptionNamespaces } = this.#options;
    const policies = [...this.#policies.values()].flatMap(({ inForce }) => (inForce === undefined ? [] : [inForce]));
    const exceptions = this.exceptions();
    const before = this.#built;
    if (before !== undefined && isSameList(before.policies, policies) && isSameList(before.exceptions, exceptions)) {
      return before.set;
    }
    const set = policySet({
      policies,
      exceptions,
      platformNamespace,
      excludedNamespaces,
      exceptionNamespaces: [...exceptionNamespaces],
    });
    this.#built = { policies, exceptions, set };
    return set;
  }

  /** Lists the objects that all policies declare, including pending ones. */
  needs(): ObjectQuery[] {
    return [...this.#policies.values()].flatMap((entry) => needsOf(compiledOf(entry).model));
  }

  exceptions(): CompiledException[] {
    return [...this.#exceptions.values()].flatMap((entry) => {
      entry.compiled ??= completed(entry.steps ?? exceptionSteps(entry.object));
      return entry.compiled.exception === undefined ? [] : [entry.compiled.exception];
    });
  }

  state(name: string): PolicyState | undefined {
    const entry = this.#policies.get(name);
    return entry === undefined ? undefined : stateOf(entry);
  }

  *states(): IterableIterator<PolicyState> {
    for (const entry of this.#policies.values()) yield stateOf(entry);
  }

  #pending(model: PolicyModel): ObjectQuery[] {
    return needsOf(model).filter((need) => this.#options.needState(need) === 'pending');
  }
}

/**
 * `needsOf` lists the params and context of a policy as queries. Without a namespace, a query matches any namespace.
 */
export function needsOf(model: PolicyModel | undefined): ObjectQuery[] {
  if (model === undefined) return [];
  const { params, context } = model;
  return [
    ...(params === undefined ? [] : [queryOf(params, params.name)]),
    ...context.map((each) => queryOf(each, each.resourceName)),
  ];
}

function queryOf(
  { apiVersion, kind, namespace, selector }: Omit<ObjectQuery, 'name'>,
  name: string | undefined,
): ObjectQuery {
  return {
    apiVersion,
    kind,
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(selector === undefined ? {} : { selector }),
  };
}

function compiledOf(entry: Entry): CompiledEntry {
  entry.compiled ??= completed(entry.steps ?? policySteps(entry.object));
  return entry.compiled;
}

function* policySteps(object: UnknownObject): Steps<CompiledEntry> {
  const read = readPolicy(object);
  if (read.model === undefined) return { issues: read.issues };
  const { policy, issues } = yield* compileSteps(read.model);
  // The policy is prepared here, between requests: otherwise the first request with a new set would have to wait for
  // all policies.
  if (policy !== undefined) preparePolicy(policy);
  return { model: read.model, issues: [...read.issues, ...issues], ...(policy === undefined ? {} : { policy }) };
}

function* exceptionSteps(object: UnknownObject): Steps<CompiledExceptionEntry> {
  const read = readException(object);
  if (read.exception === undefined) return { issues: read.issues };
  const { exception, issues } = yield* compileExceptionSteps(read.exception);
  return { issues: [...read.issues, ...issues], ...(exception === undefined ? {} : { exception }) };
}

function stateOf({ object: { metadata }, resourceVersion, compiled: made, waitsFor, inForce }: Entry): PolicyState {
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    resourceVersion,
    ...(made?.model === undefined ? {} : { model: made.model }),
    ...(made?.policy === undefined ? {} : { policy: made.policy }),
    issues: made?.issues ?? [],
    inForce: inForce !== undefined && inForce === made?.policy,
    waitsFor,
  };
}

function isSame({ metadata: one }: UnknownObject, { metadata: other }: UnknownObject): boolean {
  return one.uid === other.uid && one.generation === other.generation;
}

function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
