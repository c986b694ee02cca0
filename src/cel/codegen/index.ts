/** Plan → a JavaScript function, through `new Function`; undefined where the host does not allow that. */
import type { Program } from '../plan/plan.ts';
import type { Variables } from '../run/frame.ts';
import type { Result } from '../values.ts';
import { Emitter } from './emitter.ts';
import { Generator, type Target } from './generator.ts';
import { RUNTIME, type State } from './runtime.ts';

export type Run = (variables: Variables, state: State) => Result;

/** Whether this process may generate code: `node --disallow-code-generation-from-strings` forbids it. */
export function codeAllowed(): boolean {
  allowed ??= probe();
  return allowed;
}

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
 * Functions by their source. Expressions that differ only in their literals have one source, and then one code: a thousand
 * policies that each name another registry take the memory and the warm-up of one.
 */
const FACTORIES = new Map<string, Factory>();
const MAX_FACTORIES = 1000;

export function compileCode(program: Program): Run {
  const { source, constants } = generate(program);
  const factory = FACTORIES.get(source) ?? (new Function('K', 'H', source) as Factory);
  // The one that was asked for last stands last, and the first is the one that goes.
  FACTORIES.delete(source);
  FACTORIES.set(source, factory);
  if (FACTORIES.size > MAX_FACTORIES) FACTORIES.delete(FACTORIES.keys().next().value as string);
  return factory(constants, RUNTIME);
}

/** The source of the function and the constants it takes; to look at, too. */
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
