/** Plan → a JavaScript function, through `new Function`; undefined where the host does not allow that. */
import type { Program } from '../plan/plan.ts';
import type { Variables } from '../run/frame.ts';
import type { Result } from '../values.ts';
import { FAILED } from './calls.ts';
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

const SCOPE = { ...RUNTIME, FAILED };
const USED = new RegExp(`\\b(?:${Object.keys(SCOPE).join('|')})\\b`, 'g');

export function compileCode(program: Program): Run {
  const { source, constants } = generate(program);
  const factory = new Function('K', 'H', source) as (constants: readonly unknown[], runtime: object) => Run;
  return factory(constants, SCOPE);
}

/** The source of the function and the constants it takes; to look at, too. */
export function generate(program: Program): { source: string; constants: readonly unknown[] } {
  const g = new Generator();
  const target: Target = { fail: (error, costs) => `${g.owed(costs)}S.cost = cost; return ${error};` };
  const value = new Emitter(g).value(program.plan, target);
  g.flush();
  g.emit(`S.cost = cost; return ${value};`);
  const body = g.source;
  const constants = g.constants.map((_, index) => `k${index} = K[${index}]`);
  const names = [...new Set(body.match(USED))];
  const head = [
    '"use strict";',
    names.length > 0 ? `const { ${names.join(', ')} } = H;` : '',
    constants.length > 0 ? `const ${constants.join(', ')};` : '',
    'return function run(V, S) {',
    'let cost = 0, ticks = 0; const limit = S.limit;',
  ];
  return { source: [...head, body, '};'].join('\n'), constants: g.constants };
}
