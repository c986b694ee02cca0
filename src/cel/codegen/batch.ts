/**
 * Compiles many expressions of the same form into one function with a loop. A thousand policies tend to contain a few
 * forms of expressions with different numbers and names; calling a thousand functions, each with its own constants,
 * takes longer than the work they do. A batch stores the constants that differ side by side and reads the others once.
 *
 * A batch returns the first expression that is not true. The expression's own evaluation then decides whether it is
 * false or an error, so a batch needs no error values. It needs no deadline either, because it gives up on expensive
 * expressions.
 */
import { safeVariables } from '../host.ts';
import type { Program } from '../plan/plan.ts';
import type { Variables } from '../run/frame.ts';
import { Emitter } from './emitter.ts';
import { Generator, type Target } from './generator.ts';
import { RUNTIME, type State, Step } from './runtime.ts';

export interface Batch {
  /** The indices of the programs, in the order in which they run. */
  readonly members: readonly number[];
  /** The weighted cost of the members that were true in the last run. */
  readonly cost: number;
  /** `run` evaluates the members from `from` to `to`, and returns the index of the first that is not true, or `to`. */
  run(variables: Variables, from: number, to: number): number;
}

/** The cost limit of one expression in a batch. Reading the time is cheap compared with it. */
export const BATCH_COST_LIMIT = 10_000;
/** The minimum number of members; fewer do not justify a function. */
const FEWEST = 4;
const MAX_SIZE = 200;
const MAX_FORMS = 1000;

/** The code that programs of one form share. */
interface Form {
  readonly body: string;
  readonly helpers: readonly string[];
  readonly loops: boolean;
  /** The constants of the first program. Equal constants of other programs are these same objects. */
  readonly constants: readonly unknown[];
  /** The compiled functions, keyed by the indices of the constants that differ. */
  readonly functions: Map<string, Make>;
}

interface Formed {
  readonly form: Form;
  readonly constants: readonly unknown[];
}

type Make = (constants: readonly unknown[], runtime: object) => Run;

type Run = (
  variables: Variables,
  state: State,
  own: readonly unknown[],
  weights: Float64Array,
  from: number,
  to: number,
) => number;

/** `batches` groups the programs that share a form. `weights` multiplies the cost of each program. */
export function batches(programs: readonly Program[], weights: readonly number[]): readonly Batch[] {
  const byForm = new Map<Form, number[]>();
  programs.forEach((program, index) => {
    const { form } = formedOf(program) ?? {};
    if (form === undefined) return;
    const known = byForm.get(form);
    if (known === undefined) byForm.set(form, [index]);
    else known.push(index);
  });
  return [...byForm].flatMap(([form, members]) =>
    members.length < FEWEST ? [] : [batchOf(form, members, programs, weights)],
  );
}

/** `prepareForBatch` computes the form of a program ahead of time, which is most of the work of `batches`. */
export function prepareForBatch(program: Program): void {
  formedOf(program);
}

function batchOf(form: Form, members: readonly number[], programs: readonly Program[], all: readonly number[]): Batch {
  const constants = members.map((index) => (formedOf(programs[index] as Program) as Formed).constants);
  const first = constants[0] as readonly unknown[];
  const varying = first.flatMap((value, index) => (constants.every((each) => each[index] === value) ? [] : [index]));
  const run = makeOf(form, varying)(first, RUNTIME);
  const own = constants.flatMap((each) => varying.map((index) => each[index]));
  const weights = Float64Array.from(members, (index) => all[index] as number);
  const names = [...new Set(members.flatMap((index) => (programs[index] as Program).variables))];
  const state: State = { limit: BATCH_COST_LIMIT, interrupt: undefined, cost: 0 };
  return {
    members,
    get cost() {
      return state.cost;
    },
    run: (variables, from, to) => run(safeVariables(variables, names), state, own, weights, from, to),
  };
}

// Caches, keyed by program and by source. They do not influence results.
const FORMED = new WeakMap<Program, Formed | undefined>();
const FORMS = new Map<string, Form>();

/** Returns the form and the constants of a program, or undefined if it is too large. */
function formedOf(program: Program): Formed | undefined {
  if (program.size > MAX_SIZE) return undefined;
  let known = FORMED.get(program);
  if (known === undefined) {
    known = formed(program);
    FORMED.set(program, known);
  }
  return known;
}

const LEAVE = 'S.cost = total; return N;';

function formed(program: Program): Formed {
  const g = new Generator();
  const target: Target = { fail: () => LEAVE };
  const value = new Emitter(g).value(program.plan, target);
  g.flush();
  g.emit(`if (${value} !== true) { ${LEAVE} }`);
  const body = g.source;
  const form = FORMS.get(body) ?? {
    body,
    helpers: [...g.h.used],
    loops: g.loops,
    constants: g.constants,
    functions: new Map(),
  };
  // The map is ordered by last use; the least recently used entry is evicted.
  FORMS.delete(body);
  FORMS.set(body, form);
  if (FORMS.size > MAX_FORMS) FORMS.delete(FORMS.keys().next().value as string);
  return { form, constants: g.constants.map((each, index) => shared(each, form.constants[index])) };
}

/** The source position of a step does not matter in a batch, so equal steps are shared. */
function shared(value: unknown, first: unknown): unknown {
  if (!(value instanceof Step && first instanceof Step)) return value;
  const same = value.key === first.key && value.strict === first.strict && value.from?.name === first.from?.name;
  return same ? first : value;
}

function makeOf(form: Form, varying: readonly number[]): Make {
  const key = varying.join();
  let made = form.functions.get(key);
  if (made === undefined) {
    made = new Function('K', 'H', sourceOf(form, varying)) as Make;
    form.functions.set(key, made);
  }
  return made;
}

function sourceOf({ body, helpers, loops, constants }: Form, varying: readonly number[]): string {
  const common = constants.flatMap((_, index) => (varying.includes(index) ? [] : [`k${index} = K[${index}]`]));
  const own = varying.map((index, place) => `k${index} = O[N * ${varying.length} + ${place}]`);
  return [
    '"use strict";',
    helpers.length > 0 ? `const { ${helpers.join(', ')} } = H;` : '',
    common.length > 0 ? `const ${common.join(', ')};` : '',
    'return function batch(V, S, O, W, from, to) {',
    'const limit = S.limit, interrupt = undefined; let total = 0, N = from;',
    // The evaluation of the failing expression itself reports the error.
    'try {',
    'for (; N < to; N++) {',
    'let cost = 0;',
    // The cost limit ends the loop before an interrupt check would be due.
    loops ? 'let ask = limit;' : '',
    own.length > 0 ? `const ${own.join(', ')};` : '',
    body,
    `if (cost > limit) { ${LEAVE} }`,
    'total += cost * W[N];',
    '}',
    '} catch {}',
    'S.cost = total; return N;',
    '};',
  ].join('\n');
}
