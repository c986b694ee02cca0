/**
 * Generates JavaScript source from a plan. A failing step leaves its block with `break` and does not throw. Costs are
 * summed at compile time and written once per block, so the common path is little more than the expression itself.
 *
 * Only names and strings written with JSON.stringify enter the source from the text of the expression.
 */
import type { Plan } from '../plan/plan.ts';
import { type Helper, RUNTIME } from './runtime.ts';

/** The target of a failed step; `error` and the costs are JavaScript expressions. */
export interface Target {
  fail(error: string, costs: readonly string[]): string;
}

/** The helpers that generated code may call. Every requested name is recorded, so only the used helpers are bound. */
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
  /** Whether the code has a loop, which periodically checks for an interrupt. */
  loops = false;
  #lines: string[] = [];
  #names = 0;
  /** The cost of the steps since the last `flush`. */
  #pending = 0;
  /** Expressions for string sizes that are known without measuring, keyed by variable. */
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

  /** Returns a reference to a constant of the program. */
  constant(value: unknown): string {
    // Numbers are not deduplicated: the source would then depend on which of them are equal.
    const known = typeof value === 'number' ? -1 : this.constants.indexOf(value);
    if (known >= 0) return `k${known}`;
    this.constants.push(value);
    return `k${this.constants.length - 1}`;
  }

  /**
   * Returns a reference to a literal of the expression or a position in it. Numbers and strings are not inlined, so
   * expressions that differ only in literals share one source and its code. Inlining would not be faster: V8 expands
   * `startsWith` and similar calls on a known string into loops that are slower than its built-in function.
   */
  literal(value: unknown): string {
    return value === null || typeof value === 'boolean' ? String(value) : this.constant(value);
  }

  /** Stores an expression that is used more than once in a variable. */
  held(expression: string): string {
    const name = this.name();
    this.emit(`const ${name} = ${expression};`);
    return name;
  }

  charge(cost: number): void {
    this.#pending += cost;
  }

  /** Writes the pending cost. Call it before control flow branches or joins. */
  flush(): void {
    if (this.#pending !== 0) this.emit(`cost += ${this.#pending};`);
    this.#pending = 0;
  }

  /** Runs `body` with no pending cost, for code on another path; the pending cost of this path is kept. */
  apart(body: () => void): void {
    const owed = this.#pending;
    this.#pending = 0;
    body();
    this.flush();
    this.#pending = owed;
  }

  /** Returns the pending cost of a path that leaves now, including `more`. */
  owed(more: readonly string[]): string {
    const terms = [...(this.#pending === 0 ? [] : [String(this.#pending)]), ...more.filter((each) => each !== '0')];
    return terms.length === 0 ? '' : `cost += ${terms.join(' + ')}; `;
  }

  /** Emits `if (condition) { fail }`. */
  failIf(condition: string, target: Target, error: string, costs: readonly string[] = []): void {
    this.emit(`if (${condition}) { ${target.fail(error, costs)} }`);
  }
}

/**
 * Emits a block that sets `variable`, at its end or by a failure inside; all costs are written then. With `size`, the
 * name of a variable, the size of a string built inside is also known outside.
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

/** Returns a target that adds `costs` on the way to `outer`: the cost of an enclosing call that is not made. */
export function surcharge(outer: Target, costs: readonly string[]): Target {
  return costs.length === 0 ? outer : { fail: (error, more) => outer.fail(error, [...more, ...costs]) };
}

/** `canFail` reports whether a plan may yield an error or an unknown. */
export function canFail(plan: Plan): boolean {
  switch (plan.op) {
    case 'constant':
    case 'notFalse':
      return false;
    case 'equal':
      // Comparing an opaque type of Kubernetes with another type is an error.
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

/** `isBoolean` reports whether a value of the plan, if there is one, is a boolean. */
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
      // The result of `all` and `exists` is a boolean.
      return isBoolean(plan.initial) && isBoolean(plan.step) && plan.result.op === 'local';
    default:
      return false;
  }
}
