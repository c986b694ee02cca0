/**
 * Determines the values that must never be shown: those of Secrets and of the paths that a policy marks. A value is
 * hidden if it was computed from a hidden one, through variables, loops or string concatenation; this is derived from
 * the expression alone.
 */
import { GROUP } from '../../api/index.ts';
import { type Expr, type Read, reads } from '../../cel/index.ts';
import { SHORTHANDS } from '../engine/environment.ts';
import type { Unit } from '../engine/unit.ts';
import type { PolicyModel } from '../model.ts';

export const HIDDEN = '(hidden)';

type Steps = readonly string[];

/** kubectl writes the whole object into this annotation, including its data. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const OF_SECRETS: readonly Steps[] = [['data'], ['stringData'], ['metadata', 'annotations', LAST_APPLIED]];
const OF_PLATFORM_SECRETS: readonly Steps[] = [...OF_SECRETS, ['spec', 'keys']];

/** The origin of a loop variable. */
export type Origin = { readonly root: string; readonly steps: Steps } | 'hidden' | 'open';

export class Sensitive {
  readonly #paths = new Map<string, readonly Steps[]>();
  readonly #units = new Map<Unit, boolean>();

  /** `kind` is the kind of the evaluated object. */
  constructor(model: PolicyModel, kind: { readonly group: string; readonly kind: string }) {
    const marked = model.sensitivePaths.map(readSteps);
    const ofObject = [...secretPaths(kind.group, kind.kind), ...marked];
    for (const root of ['object', 'oldObject']) this.#paths.set(root, ofObject);
    const { params, context } = model;
    if (params !== undefined) this.#paths.set('params', secretPaths(groupOf(params.apiVersion), params.kind));
    for (const each of context) {
      const paths = secretPaths(groupOf(each.apiVersion), each.kind);
      // A variable without a name holds a list of objects.
      const inside = each.resourceName === undefined ? paths.map((path) => ['*', ...path]) : paths;
      this.#paths.set(each.name, inside);
    }
  }

  get any(): boolean {
    return [...this.#paths.values()].some((paths) => paths.length > 0);
  }

  /** `hides` reports whether the value of `node` may contain sensitive data. */
  hides(node: Expr, unit: Unit, locals: ReadonlyMap<string, Origin>): boolean {
    return this.any && reads(node).some((read) => this.#hidesRead(read, unit, locals));
  }

  hidesUnit(unit: Unit): boolean {
    if (!this.any) return false;
    let answer = this.#units.get(unit);
    if (answer === undefined) {
      this.#units.set(unit, true);
      answer = unit.reads.some((read) => this.#hidesRead(read, unit, NO_LOCALS));
      this.#units.set(unit, answer);
    }
    return answer;
  }

  /** `originOf` returns the origin of the elements of `range`. */
  originOf(range: Expr, unit: Unit, locals: ReadonlyMap<string, Origin>): Origin {
    const found = reads(range).find(({ node }) => node === range);
    if (found === undefined) return this.hides(range, unit, locals) ? 'hidden' : 'open';
    const local = locals.get(found.variable);
    if (typeof local === 'string') return local;
    if (local !== undefined) return { root: local.root, steps: [...local.steps, ...found.path, '*'] };
    if (found.variable === 'variables') return this.hides(range, unit, locals) ? 'hidden' : 'open';
    const [root, steps] = longForm(found.variable, found.path);
    return { root, steps: [...steps, '*'] };
  }

  #hidesRead({ variable, path }: Read, unit: Unit, locals: ReadonlyMap<string, Origin>): boolean {
    const local = locals.get(variable);
    if (typeof local === 'string') return local === 'hidden';
    if (local !== undefined) return this.#meets(local.root, [...local.steps, ...path]);
    if (variable === 'variables') {
      const [name] = path;
      const read =
        name === undefined || name === '*' ? [...(unit.variables?.values() ?? [])] : [unit.variables?.get(name)];
      return read.some((each) => each !== undefined && this.hidesUnit(each));
    }
    const [root, steps] = longForm(variable, path);
    return this.#meets(root, steps);
  }

  /** `hidesWithin` reports whether a list or map at `path` may contain sensitive data: a parent shows its children. */
  hidesWithin(path: string | undefined): boolean {
    if (!this.any) return false;
    const [variable = '', ...rest] = (path ?? '').replaceAll('[]', '.*').split('.');
    if (variable === 'request' || variable === 'namespaceObject') return false;
    const [root, steps] = longForm(variable, rest);
    const paths = this.#paths.get(root);
    // A key may contain dots, which a path text does not distinguish from steps.
    return paths === undefined || paths.some((each) => meet(each.join('.').split('.'), steps));
  }

  #meets(root: string, steps: Steps): boolean {
    return (this.#paths.get(root) ?? []).some((path) => meet(path, steps));
  }
}

/**
 * Reports whether one path is a prefix of the other. `*` is a list element, which a marked path may omit
 * (`spec.containers.env.value`), or a computed map key: it matches one step or none.
 */
function meet([first, ...path]: Steps, [step, ...steps]: Steps): boolean {
  if (first === undefined || step === undefined) return true;
  if (first === step) return meet(path, steps);
  if (step === '*') return meet([first, ...path], steps) || meet(path, steps);
  return first === '*' && (meet(path, [step, ...steps]) || meet(path, steps));
}

const NO_LOCALS: ReadonlyMap<string, Origin> = new Map();

/** Expands a shorthand name to a path in the object; object and oldObject hide the same paths. */
function longForm(variable: string, path: Steps): readonly [root: string, steps: Steps] {
  return (SHORTHANDS as readonly string[]).includes(variable) ? ['object', [variable, ...path]] : [variable, path];
}

function secretPaths(group: string, kind: string): readonly Steps[] {
  if (kind !== 'Secret') return [];
  if (group === GROUP) return OF_PLATFORM_SECRETS;
  return group === '' ? OF_SECRETS : [];
}

const groupOf = (apiVersion: string): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] as string) : '');

/** Parses `spec.containers[*].env`, `.spec.token`, `spec.labels["a.b/c"]`. An index matches any element. */
function readSteps(text: string): Steps {
  const found = text.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\['([^']*)'\]|\[([0-9*]*)\]|([^.[\]]+)/g);
  return [...found].map(
    ([, double, single, index, name]) => double ?? single ?? (index !== undefined ? '*' : (name ?? '*')),
  );
}
