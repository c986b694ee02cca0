/**
 * Many expressions of one form → one function that runs them in a row. A thousand policies tend to say a few things with other numbers
 * and names in them; to call a thousand functions, each with constants of its own in another corner of the memory, takes longer than
 * what they do. Here the constants that differ stand side by side, those that do not are read once, and one loop goes over them.
 *
 * A batch answers which expression is the first that is not plainly true. What that one is, false or an error, its own evaluation
 * says: so a batch needs no words for errors, and no clock, because it gives up on what costs more than a little.
 */
import { safeVariables } from '../host.ts';
import type { Program } from '../plan/plan.ts';
import type { Variables } from '../run/frame.ts';
import { Emitter } from './emitter.ts';
import { Generator, type Target } from './generator.ts';
import { RUNTIME, type State, Step } from './runtime.ts';

export interface Batch {
  /** Which of the programs that were given, in the order in which they run. */
  readonly members: readonly number[];
  /** What those that were true in the last run have cost, each as many times as it weighs. */
  readonly cost: number;
  /** Runs the members from `from` on until one is not true: that one, or `to`. */
  run(variables: Variables, from: number, to: number): number;
}

/** What an expression may cost in a batch. It takes about as long as the look at a clock costs many times over. */
export const BATCH_COST_LIMIT = 10_000;
/** Fewer are not worth a function of their own. */
const FEWEST = 4;
const MAX_SIZE = 200;
const MAX_FORMS = 1000;

/** Everything that programs of one form have in common. */
interface Form {
  readonly body: string;
  readonly helpers: readonly string[];
  readonly loops: boolean;
  /** Of the first of them: where others have the same, they have these very ones. */
  readonly constants: readonly unknown[];
  /** By which of the constants differ. */
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

/** The programs that share a form with enough others; `weights`: how many times the cost of each counts. */
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

/** Makes now what `batches` would have to make of a program first: most of what a batch takes, and the same in every batch. */
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

const FORMED = new WeakMap<Program, Formed | undefined>();
const FORMS = new Map<string, Form>();

/** The form of a program and its constants; undefined for one that is too large. */
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
  // The one that was asked for last stands last, and the first is the one that goes.
  FORMS.delete(body);
  FORMS.set(body, form);
  if (FORMS.size > MAX_FORMS) FORMS.delete(FORMS.keys().next().value as string);
  return { form, constants: g.constants.map((each, index) => shared(each, form.constants[index])) };
}

/** Where in its source a step stands makes no difference here. */
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
    // Whatever is thrown, the evaluation of the one that threw it says it again.
    'try {',
    'for (; N < to; N++) {',
    'let cost = 0;',
    // Nobody has to be asked whether to stop before all is spent.
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
