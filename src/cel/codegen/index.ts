/** Compiles a plan to a JavaScript function with `new Function`. */
import type { Program } from '../plan/plan.ts';
import type { Variables } from '../run/frame.ts';
import type { Result } from '../values.ts';
import { Emitter } from './emitter.ts';
import { Generator, type Target } from './generator.ts';
import { RUNTIME, type State } from './runtime.ts';

export type Run = (variables: Variables, state: State) => Result;

/**
 * `codeAllowed` reports whether the process may generate code; `node --disallow-code-generation-from-strings` forbids
 * it.
 */
export function codeAllowed(): boolean {
  allowed ??= probe();
  return allowed;
}

/** A cache: the flag of the process does not change. */
let allowed: boolean | undefined;

function probe(): boolean {
  try {
    return new Function('return true')() === true;
  } catch {
    return false;
  }
}

type Factory = (constants: readonly unknown[], runtime: object) => Run;

/**
 * A cache of functions by source. Expressions that differ only in literals share one source and one function: a
 * thousand policies with different registries need the memory and the warm-up of one.
 */
const FACTORIES = new Map<string, Factory>();
const MAX_FACTORIES = 1000;

export function compileCode(program: Program): Run {
  const { source, constants } = generate(program);
  const factory = FACTORIES.get(source) ?? (new Function('K', 'H', source) as Factory);
  // The map is ordered by last use; the least recently used entry is evicted.
  FACTORIES.delete(source);
  FACTORIES.set(source, factory);
  if (FACTORIES.size > MAX_FACTORIES) FACTORIES.delete(FACTORIES.keys().next().value as string);
  return factory(constants, RUNTIME);
}

/** `generate` returns the source of the function and its constants. */
export function generate(program: Program): { source: string; constants: readonly unknown[] } {
  const g = new Generator();
  const target: Target = { fail: (error, costs) => `${g.owed(costs)}S.cost = cost; return ${error};` };
  const value = new Emitter(g).value(program.plan, target);
  g.flush();
  g.emit(`S.cost = cost; return ${value};`);
  const helpers = [...g.h.used];
  const constants = g.constants.map((_, index) => `k${index} = K[${index}]`);
  const head = [
    '"use strict";',
    helpers.length > 0 ? `const { ${helpers.join(', ')} } = H;` : '',
    constants.length > 0 ? `const ${constants.join(', ')};` : '',
    'return function run(V, S) {',
    'let cost = 0; const limit = S.limit;',
    g.loops ? 'const interrupt = S.interrupt; let ask = -1;' : '',
  ];
  return { source: [...head, g.source, '};'].join('\n'), constants: g.constants };
}
