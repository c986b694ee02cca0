/**
 * Plan → JavaScript source. What can fail leaves its block with `break` instead of throwing, and what a step costs is
 * added up at compile time and written once a block, so that the usual path is little more than the expression itself.
 *
 * Nothing of the expression's text is ever put into the source but names and strings written with JSON.stringify.
 */
import type { Plan } from '../plan/plan.ts';
import { type Helper, RUNTIME } from './runtime.ts';

/** The target of a failed step; `error` and the costs are JavaScript expressions. */
export interface Target {
  fail(error: string, costs: readonly string[]): string;
}

/** The names of what generated code may call; a name that is asked for is noted, so that only those are bound. */
class Helpers {
  readonly used = new Set<Helper>();
}
for (const name of Object.keys(RUNTIME) as Helper[]) {
  const get = function (this: Helpers): Helper {
    this.used.add(name);
    return name;
  };
  Object.defineProperty(Helpers.prototype, name, { get });
}

export class Generator {
  readonly constants: unknown[] = [];
  readonly h = new Helpers() as Helpers & Readonly<Record<Helper, string>>;
  /** Whether there is a loop, which asks from time to time whether to stop. */
  loops = false;
  #lines: string[] = [];
  #names = 0;
  /** Cost of the steps since it was last written. */
  #pending = 0;
  /** Expressions for the sizes of strings that are known without looking at them, by variable. */
  readonly sizes = new Map<string, string>();

  emit(line: string): void {
    this.#lines.push(line);
  }

  get source(): string {
    return this.#lines.join('\n');
  }

  name(prefix = 't'): string {
    return `${prefix}${this.#names++}`;
  }

  /** A constant of the program, by reference. */
  constant(value: unknown): string {
    // A number is not looked for: which of them are equal would become part of the source.
    const known = typeof value === 'number' ? -1 : this.constants.indexOf(value);
    if (known >= 0) return `k${known}`;
    this.constants.push(value);
    return `k${this.constants.length - 1}`;
  }

  /**
   * A value of the expression's own, or a place in it. Numbers and strings are not written out, so that expressions
   * which differ in nothing else have the same source and share its code. (Nor would it be faster: V8 makes loops of
   * its own of `startsWith` and the like with a string that it knows, and they are slower than its function.)
   */
  literal(value: unknown): string {
    return value === null || typeof value === 'boolean' ? String(value) : this.constant(value);
  }

  /** An expression that is used more than once is put into a variable. */
  held(expression: string): string {
    const name = this.name();
    this.emit(`const ${name} = ${expression};`);
    return name;
  }

  charge(cost: number): void {
    this.#pending += cost;
  }

  /** Writes what is owed: before control flow parts or joins. */
  flush(): void {
    if (this.#pending !== 0) this.emit(`cost += ${this.#pending};`);
    this.#pending = 0;
  }

  /** Runs `body` with nothing owed, for code on another path; what is owed here stays owed here. */
  apart(body: () => void): void {
    const owed = this.#pending;
    this.#pending = 0;
    body();
    this.flush();
    this.#pending = owed;
  }

  /** The outstanding cost of a path that leaves now, including `more`. */
  owed(more: readonly string[]): string {
    const terms = [...(this.#pending === 0 ? [] : [String(this.#pending)]), ...more.filter((each) => each !== '0')];
    return terms.length === 0 ? '' : `cost += ${terms.join(' + ')}; `;
  }

  /** `if (condition) { fail }`. */
  failIf(condition: string, target: Target, error: string, costs: readonly string[] = []): void {
    this.emit(`if (${condition}) { ${target.fail(error, costs)} }`);
  }
}

/**
 * A block that ends with `variable` set, either by its end or by a failure inside; all costs are written then. With
 * `size`, a variable for it, the size of a string that was built inside is known outside as well.
 */
export function block(generator: Generator, variable: string, body: (target: Target) => string, size?: string): void {
  const label = generator.name('L');
  const target: Target = {
    fail: (error, costs) => `${generator.owed(costs)}${variable} = ${error}; break ${label};`,
  };
  generator.emit(`${label}: {`);
  const value = body(target);
  if (value !== variable) generator.emit(`${variable} = ${value};`);
  const known = generator.sizes.get(value);
  if (size !== undefined && known !== undefined) {
    generator.emit(`${size} = ${known};`);
    generator.sizes.set(variable, size);
  }
  generator.flush();
  generator.emit('}');
}

/** A target that pays `costs` more on the way to `outer`: what an enclosing call costs although it is not made. */
export function surcharge(outer: Target, costs: readonly string[]): Target {
  return costs.length === 0 ? outer : { fail: (error, more) => outer.fail(error, [...more, ...costs]) };
}

/** Whether a plan may yield an error or an unknown. */
export function canFail(plan: Plan): boolean {
  switch (plan.op) {
    case 'constant':
    case 'notFalse':
      return false;
    case 'equal':
      // Kubernetes' own types cannot be compared with others.
      return plan.left.op !== 'constant' || canFail(plan.right);
    case 'unequal':
      return canFail(plan.left) || canFail(plan.right);
    case 'call':
      return plan.known === undefined;
    case 'membership':
      return canFail(plan.element);
    case 'and':
    case 'or':
      return plan.terms.some((each) => canFail(each) || !isBoolean(each));
    case 'list':
      return plan.elements.some((each) => each.optional || canFail(each.plan));
    case 'conditional':
      return canFail(plan.condition) || !isBoolean(plan.condition) || canFail(plan.truthy) || canFail(plan.falsy);
    default:
      return true;
  }
}

export const localName = (slot: number): string => `l${slot}`;

/** Whether a value of the plan, when there is one, is a boolean. */
export function isBoolean(plan: Plan): boolean {
  switch (plan.op) {
    case 'constant':
      return typeof plan.value === 'boolean';
    case 'and':
    case 'or':
    case 'equal':
    case 'unequal':
    case 'membership':
    case 'notFalse':
      return true;
    case 'attribute':
      return plan.qualifiers.at(-1)?.test === true;
    case 'call':
      return plan.overloads.length > 0 && plan.overloads.every((each) => each.result.kind === 'bool');
    case 'conditional':
      return isBoolean(plan.truthy) && isBoolean(plan.falsy);
    case 'fold':
      // all and exists.
      return isBoolean(plan.initial) && isBoolean(plan.step) && plan.result.op === 'local';
    default:
      return false;
  }
}
