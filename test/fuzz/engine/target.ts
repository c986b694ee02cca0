import { ensure } from './explore.ts';

/** What a file of `targets/` exports as `target`: one parser of outside input, and what must hold for every input. */
export interface Target {
  /** The parser, in a few words. */
  readonly about: string;
  /** The modules whose branches count: paths that begin with one of these, from the root of the repository. */
  readonly modules: readonly string[];
  /** Inputs to begin with, beside the kept corpus. */
  readonly seeds: () => readonly (string | Buffer)[];
  /** Words that the format has and that are not string literals of `modules`. */
  readonly words?: readonly string[];
  /** Whether inputs are usually JSON: values are then mutated as well as bytes. */
  readonly isJson?: boolean;
  /** Longer inputs are cut. Default: 4096. */
  readonly mostBytes?: number;
  /** Gives an input to the parser. Throws, or rejects, if it breaks a rule; a refusal that the parser documents is no error. */
  run(input: Buffer): void | Promise<void>;
}

/** `tryInput` gives an input to a target, and holds it to the rule of all targets: what strangers send is not printed as a warning. */
export function tryInput(target: Target, input: Buffer): void | Promise<void> {
  const { emitWarning } = process;
  const warned: string[] = [];
  process.emitWarning = (warning: string | Error) => void warned.push(String(warning));
  const settle = () => {
    process.emitWarning = emitWarning;
    ensure(warned.length === 0, 'no warning is printed', () => warned.join('\n'));
  };
  const fail = (error: unknown) => {
    process.emitWarning = emitWarning;
    throw error;
  };
  let running: void | Promise<void>;
  try {
    running = target.run(input);
  } catch (error) {
    return fail(error);
  }
  return running instanceof Promise ? running.then(settle, fail) : settle();
}
