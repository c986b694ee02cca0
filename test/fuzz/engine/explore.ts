/**
 * Coverage-guided exploration: seeds come in, a corpus of inputs that reach different code and the findings go out. An input is kept if it
 * reaches a branch, or a number of repetitions of it, that no shorter input of the corpus does. It knows neither files nor targets.
 */
import { createHash } from 'node:crypto';
import { type Mutator, mutate, type Random } from './mutate.ts';

/** A broken rule of a target. `rule` is constant, so that findings of one cause are counted once. */
export class Violation extends Error {
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.name = 'Violation';
    this.rule = rule;
  }
}

/** `ensure` throws a `Violation` unless the condition holds. */
export function ensure(condition: boolean, rule: string, detail: () => string = () => ''): asserts condition {
  if (!condition) throw new Violation(rule, detail());
}

export interface Finding {
  /** The same for all inputs that fail for one cause. */
  readonly cause: string;
  readonly input: Buffer;
  readonly message: string;
}

interface Entry {
  readonly input: Buffer;
  /** The number of features that it is the shortest input for. */
  owned: number;
}

export interface ExplorerOptions {
  readonly run: (input: Buffer) => void | Promise<void>;
  /** The counters that a run increments, of one module each. */
  readonly counters: readonly Uint32Array[];
  readonly words: readonly string[];
  readonly isJson: boolean;
  readonly mostBytes: number;
  readonly random: Random;
  /** An input that takes more CPU time is a finding. */
  readonly mostMilliseconds: number;
}

export class Explorer {
  executions = 0;
  readonly findings = new Map<string, Finding>();
  readonly #options: ExplorerOptions;
  readonly #mutator: Mutator;
  /** The shortest input for each feature: a counter and the magnitude of its count. */
  readonly #owners = new Map<number, Entry>();
  readonly #covered = new Set<number>();
  #entries: Entry[] = [];

  constructor(options: ExplorerOptions) {
    this.#options = options;
    const words = options.words.length > 0 ? options.words : [''];
    this.#mutator = { ...options, words, other: () => this.#pick() };
  }

  /** The number of counters that any input has reached. */
  get covered(): number {
    return this.#covered.size;
  }

  get features(): number {
    return this.#owners.size;
  }

  /** Tries an input as it is. */
  async seed(input: Buffer): Promise<void> {
    if (await this.#try(input)) this.#keep(input);
  }

  /** Tries a mutation of an input of the corpus. */
  async step(): Promise<void> {
    const input = mutate(this.#pick(), this.#mutator);
    if (await this.#try(input)) this.#keep(input);
  }

  /** The corpus, inputs for new branches first, then for repetitions, shorter ones first. */
  corpus(): Buffer[] {
    const entries = [...new Set(this.#owners.values())].sort((one, other) => one.input.length - other.input.length);
    const branches = new Map<number, Entry>();
    for (const [feature, entry] of this.#owners) {
      const known = branches.get(feature >> 3);
      if (known === undefined || known.input.length > entry.input.length) branches.set(feature >> 3, entry);
    }
    const needed = new Set(branches.values());
    return [...entries.filter((each) => needed.has(each)), ...entries.filter((each) => !needed.has(each))].map(
      ({ input }) => input,
    );
  }

  #pick(): Buffer {
    const { random } = this.#options;
    const { length } = this.#entries;
    if (length === 0) return Buffer.from('');
    // Recent inputs have been tried least.
    const from = random.below(2) === 0 ? length - 1 - random.below(Math.min(length, 64)) : random.below(length);
    return this.#entries[from]?.input ?? Buffer.from('');
  }

  /** Returns false for a finding, which does not become part of the corpus. */
  async #try(input: Buffer): Promise<boolean> {
    const failure = await this.#failure(input);
    if (failure === undefined) return true;
    if (this.findings.has(failure.cause)) return false;
    const shortest = await this.#shortened(input, failure.cause);
    this.findings.set(failure.cause, { ...failure, input: shortest });
    return false;
  }

  async #failure(input: Buffer): Promise<{ cause: string; message: string } | undefined> {
    const { counters, run, mostMilliseconds } = this.#options;
    for (const each of counters) each.fill(0);
    this.executions++;
    const started = performance.now();
    try {
      const running = run(input);
      if (running !== undefined) await running;
    } catch (error) {
      return {
        cause: causeOf(error),
        message: error instanceof Error ? (error.stack ?? error.message) : String(error),
      };
    }
    if (performance.now() - started < mostMilliseconds) return undefined;
    // The machine may be busy: only CPU time counts, and only if it is repeated.
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 3; round++) {
      const before = process.threadCpuUsage();
      await run(input);
      least = Math.min(least, process.threadCpuUsage(before).user / 1000);
    }
    if (least < mostMilliseconds) return undefined;
    return {
      cause: 'slow',
      message: `takes ${Math.round(least)} ms of CPU time, at most ${mostMilliseconds} are allowed`,
    };
  }

  /** Removes as much as the same failure does not need. */
  async #shortened(input: Buffer, cause: string): Promise<Buffer> {
    let shortest = input;
    let left = cause === 'slow' ? 20 : 2_000;
    for (let length = Math.ceil(input.length / 2); length >= 1; length = Math.floor(length / 2)) {
      for (let at = 0; at + length <= shortest.length && left > 0; left--) {
        const shorter = Buffer.concat([shortest.subarray(0, at), shortest.subarray(at + length)]);
        if ((await this.#failure(shorter))?.cause === cause) shortest = shorter;
        else at += length;
      }
    }
    return shortest;
  }

  #keep(input: Buffer): void {
    const entry: Entry = { input, owned: 0 };
    let before = 0;
    for (const counters of this.#options.counters) {
      for (let index = 0; index < counters.length; index++) {
        if (counters[index] !== 0) this.#claim(before + index, counters[index] ?? 0, entry);
      }
      before += counters.length;
    }
    if (entry.owned === 0) return;
    this.#entries.push(entry);
    if (this.#entries.length % 64 === 0) this.#entries = this.#entries.filter(({ owned }) => owned > 0);
  }

  #claim(counter: number, count: number, entry: Entry): void {
    const feature = counter * 8 + magnitude(count);
    const owner = this.#owners.get(feature);
    if (owner !== undefined && owner.input.length <= entry.input.length) return;
    if (owner !== undefined) owner.owned--;
    entry.owned++;
    this.#owners.set(feature, entry);
    this.#covered.add(counter);
  }
}

/** 0 to 7: once, twice, thrice, then by powers of two. */
const magnitude = (count: number): number => (count <= 3 ? count - 1 : Math.min(7, 32 - Math.clz32(count)));

/** The rule that was broken, or the kind of error and the place in our source where it came from. */
function causeOf(error: unknown): string {
  if (error instanceof Violation) return error.rule;
  if (!(error instanceof Error)) return String(error);
  const frame = /\((?:file:\/\/)?[^()]*?\/((?:src|test)\/[^()]*)\)|at (?:file:\/\/)?\S*?\/(src\/\S+)/.exec(
    error.stack ?? '',
  );
  return `${error.name} at ${frame?.[1] ?? frame?.[2] ?? 'an unknown place'}`;
}

/** A short name for an input. */
export const digestOf = (input: Buffer): string => createHash('sha256').update(input).digest('hex').slice(0, 12);
