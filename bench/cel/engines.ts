/** What is compared in JavaScript: our engine, two other libraries, and code written by hand. */
import { type Compiled, compile, environment, trust, types, type Value } from '../../src/cel/index.ts';
import { generate } from '../../src/cel/internal.ts';
import { cases, type Deployment } from './cases.ts';

export interface Engine {
  readonly name: string;
  /** From the source to what is run, or the code of it; missing where that is not worth measuring. */
  compile?(expression: string): unknown;
  /** What it is given of a parsed object, made once for each as a webhook makes it once for each request. */
  input?(object: Deployment): unknown;
  /** Answers whether the input passes; undefined where the engine cannot do the expression. */
  prepare(expression: string): ((input: never) => unknown) | undefined;
}

const ourEnvironment = environment('kubernetes-1.36', { variables: { object: types.DYN } });

/**
 * Ours, with costs counted and open to interruption, as a webhook runs it. `trusted`: the host says of its variables
 * that they are data, which it knows because it has just parsed them, in the same record for all expressions of a
 * request; the code by hand takes that for granted. Elsewhere the engine makes sure of every object itself.
 */
function ours(name: string, backend: 'code' | 'closures', trusted: boolean): Engine {
  return {
    name,
    input: (object) => (trusted ? trust({ object: object as unknown as Value }) : object),
    prepare(expression) {
      const { evaluate } = compile(expression, ourEnvironment, { backend });
      if (evaluate === undefined) return undefined;
      const budget = { spent: 0, limit: 10_000_000, interrupt: () => false };
      if (!trusted) {
        return (object: Value) => {
          budget.spent = 0;
          return evaluate({ object }, budget);
        };
      }
      return (variables: Readonly<Record<string, Value>>) => {
        budget.spent = 0;
        return evaluate(variables, budget);
      };
    },
  };
}

const byHand: Engine = {
  name: 'by hand',
  prepare: (expression) => cases.find((each) => each.expression === expression)?.byHand,
};

/** The parts of the two libraries that are used: they are development dependencies, loaded only by this benchmark. */
interface Marcbachmann {
  Environment: new (
    options: object,
  ) => {
    registerVariable(name: string, type: string): unknown;
    parse(expression: string): (context: object) => unknown;
  };
}
interface Bufbuild {
  celEnv(options: object): object;
  parse(expression: string): object;
  plan(environment: object, parsed: object): (context: object) => unknown;
  isCelError(result: unknown): boolean;
}

async function peers(): Promise<Engine[]> {
  const [marcbachmannName, bufbuildName] = ['@marcbachmann/cel-js', '@bufbuild/cel'];
  const marcbachmann = (await import(marcbachmannName)) as Marcbachmann;
  const bufbuild = (await import(bufbuildName)) as Bufbuild;
  const theirEnvironment = new marcbachmann.Environment({ enableOptionalTypes: true });
  theirEnvironment.registerVariable('object', 'dyn');
  const bufbuildEnvironment = bufbuild.celEnv({});
  return [
    {
      name: marcbachmannName,
      compile: (expression) => attempt(() => theirEnvironment.parse(expression)),
      input: withBigInts,
      prepare: (expression) =>
        attempt(() => {
          const run = theirEnvironment.parse(expression);
          return (object: object) => run({ object });
        }),
    },
    {
      name: bufbuildName,
      compile: (expression) => attempt(() => bufbuild.plan(bufbuildEnvironment, bufbuild.parse(expression))),
      input: withBigInts,
      prepare: (expression) =>
        attempt(() => {
          const run = bufbuild.plan(bufbuildEnvironment, bufbuild.parse(expression));
          return (object: object) => {
            const result = run({ object });
            if (bufbuild.isCelError(result)) throw result;
            return result;
          };
        }),
    },
  ];
}

/** What an engine does not know it throws at. */
function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** Both libraries take a whole JavaScript number for a double: their ints are bigints. */
function withBigInts(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(withBigInts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withBigInts(each)]));
}

const withV8 = (expression: string) => compile(expression, ourEnvironment, { backend: 'code' });

export async function engines(): Promise<readonly Engine[]> {
  return [
    // Parse, check and generate. What V8 makes of the code, once an expression has run often enough to be worth it, is
    // in a column of its own.
    {
      ...ours('kidp', 'code', true),
      compile: (expression) => generate((compile(expression, ourEnvironment) as Compiled).program),
    },
    ours('kidp (any object)', 'code', false),
    {
      ...ours('kidp (closures)', 'closures', true),
      compile: (expression) => compile(expression, ourEnvironment, { backend: 'closures' }),
    },
    { name: 'kidp, and V8', prepare: () => undefined, compile: (expression) => withV8(expression) },
    byHand,
    ...(await peers()),
  ];
}
