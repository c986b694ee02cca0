/**
 * The deterministic automaton of a program, built lazily, state by state. Like Go's MatchString, it searches: a pattern
 * without `^` and `$` can match anywhere in the text.
 */
import { type Classes, classesOf, NEWLINE, WORD } from './characters.ts';
import { Condition, type Instruction, type Program } from './program.ts';

/** The state after a prefix that no matching text has. */
export const DEAD = -1;
/** The state after a prefix with which every text matches. */
export const ALL = -2;

/** The budget of one question, counted in instructions: a time limit would give other answers on a busy machine. */
export class Budget {
  #left: number;
  constructor(work: number) {
    this.#left = work;
  }
  spend(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new TooLarge();
  }
}

/** Thrown if a question needs more than its budget. */
export class TooLarge extends Error {}

interface State {
  /** The instructions that wait here: characters, assertions, the match. */
  readonly waiting: readonly number[];
  /** The kind of the previous character, see `Before`. */
  readonly before: number;
  readonly next: (Known<number> | undefined)[];
  accepts?: Known<boolean>;
}

/**
 * A cached result with its cost. A later question is charged the same cost; otherwise its answer would depend on
 * earlier questions.
 */
interface Known<Answer> {
  readonly answer: Answer;
  readonly cost: number;
  paidBy: Budget;
}

function paid<Answer>(known: Known<Answer>, budget: Budget): Answer {
  if (known.paidBy !== budget) {
    known.paidBy = budget;
    budget.spend(known.cost);
  }
  return known.answer;
}

/** The kind of the previous character. */
const Before = { none: 0, other: 1, newline: 2, word: 3 } as const;

/** The character classes that a program distinguishes, which are the same for every walk. */
interface Alphabet {
  readonly classes: Classes;
  /** For each character class, the value of `before` after one of its characters. */
  readonly beforeOf: readonly number[];
  /** The set of each instruction, as an index into the sets of the classes. */
  readonly setOf: ReadonlyMap<number, number>;
}

/** A cache: the alphabet depends on the program only. */
const ALPHABETS = new WeakMap<Program, Alphabet>();

function alphabetOf(program: Program): Alphabet {
  const known = ALPHABETS.get(program);
  if (known !== undefined) return known;
  const sets = [NEWLINE, WORD].map((set, index) => (looksBack(program, index) ? set : []));
  const indexes = new Map<string, number>();
  const setOf = new Map<number, number>();
  for (const [at, instruction] of program.instructions.entries()) {
    if (instruction.kind !== 'character') continue;
    const key = instruction.set.join();
    const index = indexes.get(key) ?? sets.push([...instruction.set]) - 1;
    indexes.set(key, index);
    setOf.set(at, index);
  }
  const classes = classesOf(sets);
  const beforeOf = classes.members.map(([newline, word]) =>
    newline === true ? Before.newline : word === true ? Before.word : Before.other,
  );
  const made = { classes, beforeOf, setOf };
  ALPHABETS.set(program, made);
  return made;
}

/** Whether newlines (0) or word characters (1) must be distinguished from other characters. */
function looksBack(program: Program, index: number): boolean {
  const asked =
    index === 0 ? Condition.beginLine | Condition.endLine : Condition.wordBoundary | Condition.noWordBoundary;
  return (program.conditions & asked) !== 0;
}

/**
 * A cache: a state of an automaton depends on the program only, and questions are charged as if it were built each
 * time.
 */
const MACHINES = new WeakMap<Program, Machine>();
/** A larger automaton is not kept for the next question. */
const MAX_KEPT_STATES = 1_000;

export function machineOf(program: Program): Machine {
  const known = MACHINES.get(program);
  if (known !== undefined && known.size <= MAX_KEPT_STATES) return known;
  const made = new Machine(program);
  MACHINES.set(program, made);
  return made;
}

export class Machine {
  readonly classes: Classes;
  readonly #program: Program;
  readonly #states: State[] = [];
  readonly #known = new Map<string, number>();
  readonly #alphabet: Alphabet;
  #start: Known<number> | undefined;
  /** The cost of the result that is being computed. */
  #cost = 0;

  constructor(program: Program) {
    this.#program = program;
    this.#alphabet = alphabetOf(program);
    this.classes = this.#alphabet.classes;
  }

  get size(): number {
    return this.#states.length;
  }

  start(budget: Budget): number {
    this.#start ??= this.#workOut(budget, () => this.#state(this.#settle([this.#program.start]), Before.none));
    return paid(this.#start, budget);
  }

  /** Returns the state after one more character of the class. */
  step(from: number, class_: number, budget: Budget): number {
    if (from < 0) return from;
    const state = this.#states[from] as State;
    const known = state.next[class_];
    if (known !== undefined) return paid(known, budget);
    const made = this.#workOut(budget, () => this.#step(state, class_));
    state.next[class_] = made;
    return made.answer;
  }

  /** Whether the text up to this state matches. */
  accepts(at: number, budget: Budget): boolean {
    if (at < 0) return at === ALL;
    const state = this.#states[at] as State;
    state.accepts ??= this.#workOut(budget, () => this.#open(state, conditions(state.before, undefined)) === undefined);
    return paid(state.accepts, budget);
  }

  #workOut<Answer>(budget: Budget, answer: () => Answer): Known<Answer> {
    this.#cost = 0;
    const known = { answer: answer(), cost: this.#cost, paidBy: budget };
    budget.spend(known.cost);
    return known;
  }

  #step(state: State, class_: number): number {
    const after = this.#alphabet.beforeOf[class_] as number;
    const open = this.#open(state, conditions(state.before, after));
    if (open === undefined) return ALL;
    const reached: number[] = [];
    const isIn = this.classes.members[class_] as readonly boolean[];
    for (const at of open) {
      const instruction = this.#program.instructions[at] as Instruction;
      if (instruction.kind === 'character' && isIn[this.#alphabet.setOf.get(at) as number] === true)
        reached.push(instruction.to);
    }
    // A search can start at every position.
    reached.push(this.#program.start);
    return this.#state(this.#settle(reached, true), after);
  }

  /** Returns the waiting instructions after passing all assertions that hold; undefined if the match is reached. */
  #open(state: State, holding: number): readonly number[] | undefined {
    this.#cost += state.waiting.length;
    let open = state.waiting;
    const through = new Set<number>();
    for (;;) {
      const passed: number[] = [];
      const kept: number[] = [];
      for (const at of open) {
        const instruction = this.#program.instructions[at] as Instruction;
        if (instruction.kind === 'match') return undefined;
        if (instruction.kind !== 'assert') kept.push(at);
        else if ((instruction.conditions & ~holding) === 0 && !through.has(at)) {
          through.add(at);
          passed.push(instruction.to);
        }
      }
      if (passed.length === 0) return kept;
      open = [...new Set([...kept, ...this.#settle(passed)])];
    }
  }

  /**
   * Follows instructions to those that wait for input. After the first character, assertions of the start of text never
   * hold.
   */
  #settle(from: readonly number[], inside = false): readonly number[] {
    const seen = new Set<number>();
    const pending = [...from];
    const waiting: number[] = [];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const instruction = this.#program.instructions[at] as Instruction;
      if (instruction.kind === 'split') pending.push(...instruction.to);
      else if (instruction.kind === 'assert') {
        if (!inside || (instruction.conditions & Condition.beginText) === 0) waiting.push(at);
      } else if (instruction.kind !== 'fail') waiting.push(at);
    }
    this.#cost += seen.size;
    return waiting.sort((left, right) => left - right);
  }

  #state(waiting: readonly number[], before: number): number {
    if (waiting.length === 0) return DEAD;
    const key = `${before}:${waiting.join()}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.#states.push({ waiting, before, next: [] }) - 1;
    this.#known.set(key, made);
    return made;
  }
}

/** The assertions that hold between two characters; `after` is undefined at the end of the text. */
function conditions(before: number, after: number | undefined): number {
  let holding = 0;
  if (before === Before.none) holding |= Condition.beginText | Condition.beginLine;
  if (before === Before.newline) holding |= Condition.beginLine;
  if (after === undefined) holding |= Condition.endText | Condition.endLine;
  if (after === Before.newline) holding |= Condition.endLine;
  const boundary = (before === Before.word) !== (after === Before.word);
  return holding | (boundary ? Condition.wordBoundary : Condition.noWordBoundary);
}
