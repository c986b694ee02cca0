/**
 * Sorts the objects that were read: compiles policies and exceptions into one set. A policy that cannot be read or compiled is bad
 * input, reported with its position: without it, the result would differ from admission.
 */
import { GROUP, kindNamed, kinds, VERSION } from '../../api/index.ts';
import { nearest } from '../../cel/internal.ts';
import {
  type CompiledException,
  type CompiledPolicy,
  compileException,
  compilePolicy,
  isNative,
  type PolicyIssue,
  type PolicyModel,
  type PolicySet,
  policySet,
  readException,
  readNative,
  readPolicy,
} from '../../policy/index.ts';
import { DEFAULT_EXCEPTION_NAMESPACES } from '../../policy/internal.ts';
import { type LocatedObject, type Problem, problemAt } from '../documents/index.ts';
import { identityOf } from './result.ts';

export interface Inventory {
  readonly set: PolicySet;
  readonly policies: readonly CompiledPolicy[];
  readonly exceptions: readonly CompiledException[];
  readonly problems: readonly Problem[];
  /** Problems that do not prevent an evaluation. */
  readonly warnings: readonly Problem[];
}

interface InventoryOptions {
  /** The namespaces in which PolicyExceptions apply; the default is that of the engine. */
  readonly exceptionNamespaces?: readonly string[];
}

export function takeInventory(objects: readonly LocatedObject[], options: InventoryOptions = {}): Inventory {
  const sorter = new Sorter(options.exceptionNamespaces ?? DEFAULT_EXCEPTION_NAMESPACES);
  for (const located of objects) sorter.take(located);
  sorter.takeNative();
  const { policies, exceptions, problems, warnings } = sorter;
  return { set: policySet({ policies, exceptions, ...options }), policies, exceptions, problems, warnings };
}

/** `judgesOthers` recognizes policies and exceptions: it is not worth a note that no policy matches them. */
export function judgesOthers({ object }: LocatedObject): boolean {
  return (
    isNative(object) || (isOurs(object.apiVersion) && (object.kind === 'Policy' || object.kind === 'PolicyException'))
  );
}

const isOurs = (apiVersion: string): boolean => apiVersion.startsWith(`${GROUP}/`);

class Sorter {
  readonly policies: CompiledPolicy[] = [];
  readonly exceptions: CompiledException[] = [];
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #native: LocatedObject[] = [];
  readonly #seen = new Map<string, LocatedObject>();
  readonly #exceptionNamespaces: readonly string[];

  constructor(exceptionNamespaces: readonly string[]) {
    this.#exceptionNamespaces = exceptionNamespaces;
  }

  take(located: LocatedObject): void {
    const { object } = located;
    if (isOurs(object.apiVersion)) this.#takeOurs(located);
    else if (isNative(object) && this.#isFirst(located)) this.#native.push(located);
  }

  takeNative(): void {
    if (this.#native.length === 0) return;
    const { models, issues } = readNative(this.#native.map(({ object }) => object));
    for (const issue of issues) this.#report(issue, this.#nativeNamed(issue.policy));
    for (const model of models) this.#compile(model, this.#nativeNamed(model.name));
  }

  #takeOurs(located: LocatedObject): void {
    const { apiVersion, kind } = located.object;
    if (apiVersion !== `${GROUP}/${VERSION}`) {
      this.#refuse(located, 'unknown-kind', 'apiVersion', `there is no ${apiVersion}: use ${GROUP}/${VERSION}.`);
    } else if (kindNamed(kind) === undefined) {
      const near = nearest(
        kind,
        kinds.map((each) => each.kind),
      );
      const hint =
        near === undefined ? `known kinds are ${kinds.map((each) => each.kind).join(', ')}` : `did you mean ${near}?`;
      this.#refuse(located, 'unknown-kind', 'kind', `${apiVersion} has no kind ${kind}: ${hint}`);
    } else if (kind === 'Policy' && this.#isFirst(located)) {
      const { model, issues } = readPolicy(located.object);
      for (const issue of issues) this.#report(issue, located);
      if (model !== undefined) this.#compile(model, located);
    } else if (kind === 'PolicyException' && this.#isFirst(located)) this.#takeException(located);
  }

  #compile(model: PolicyModel, located: LocatedObject | undefined): void {
    const { policy, issues } = compilePolicy(model);
    for (const issue of issues) this.#report(issue, located);
    if (policy !== undefined) this.policies.push(policy);
  }

  #takeException(located: LocatedObject): void {
    const { exception: model, issues } = readException(located.object);
    for (const issue of issues) this.#report(issue, located);
    if (model === undefined) return;
    const { exception, issues: more } = compileException(model);
    for (const issue of more) this.#report(issue, located);
    if (exception !== undefined) this.exceptions.push(exception);
    if (this.#exceptionNamespaces.includes(model.namespace)) return;
    const message = `PolicyException ${model.name} is ignored: exceptions apply only in ${this.#exceptionNamespaces.join(', ')} (set by --exception-namespace).`;
    this.warnings.push(problemAt(located, 'exception-namespace', 'metadata.namespace', message));
  }

  /** Reports a second policy of the same name: a cluster would keep the one applied last, which is unknown here. */
  #isFirst(located: LocatedObject): boolean {
    const identity = identityOf(located.object);
    const first = this.#seen.get(identity);
    if (first === undefined) {
      this.#seen.set(identity, located);
      return true;
    }
    const { kind, metadata } = located.object;
    const message = `${kind} ${metadata.name} is already defined in ${first.file}:${first.line}: rename one of them.`;
    this.#refuse(located, 'twice', 'metadata.name', message);
    return false;
  }

  #nativeNamed(name: string): LocatedObject | undefined {
    return this.#native.find(({ object }) => object.metadata.name === name) ?? this.#native[0];
  }

  #refuse(located: LocatedObject, code: string, field: string, message: string): void {
    this.problems.push(problemAt(located, code, field, message));
  }

  #report(issue: PolicyIssue, located: LocatedObject | undefined): void {
    if (located === undefined) return;
    const place = located.placeInText(issue.path, issue.line, issue.column);
    const path = issue.path === '' || issue.message.startsWith(issue.path) ? '' : `${issue.path}: `;
    const words = `${located.object.kind} ${issue.policy}: ${path}${issue.message}`;
    const problem = { code: issue.code, file: located.file, ...place, message: words };
    (issue.severity === 'error' ? this.problems : this.warnings).push(problem);
  }
}
