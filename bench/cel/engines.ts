/** What is compared in JavaScript: our engine, two other libraries, and code written by hand. */
import { compile, environment, types, type Value } from '../../src/cel/index.ts';
import { cases, type Deployment } from './cases.ts';

/** Answers whether the object passes; undefined where the engine cannot do the expression. */
export interface Engine {
  readonly name: string;
  /** Whether compiling is worth measuring. */
  readonly compiles: boolean;
  prepare(expression: string): ((object: Deployment) => unknown) | undefined;
}

const ourEnvironment = environment('kubernetes-1.36', { variables: { object: types.DYN } });

function ours(name: string, backend: 'code' | 'closures'): Engine {
  return {
    name,
    compiles: true,
    prepare(expression) {
      const compiled = compile(expression, ourEnvironment, { backend });
      const { evaluate } = compiled;
      if (evaluate === undefined) return undefined;
      // Costs counted and open to interruption, as a webhook runs it.
      const budget = { spent: 0, limit: 10_000_000, interrupt: () => false };
      return (object) => {
        budget.spent = 0;
        return evaluate({ object: object as unknown as Value }, budget);
      };
    },
  };
}

const byHand: Engine = {
  name: 'by hand',
  compiles: false,
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
      compiles: true,
      prepare: (expression) =>
        attempt(() => {
          const run = theirEnvironment.parse(expression);
          return (object: object) => run({ object });
        }),
    },
    {
      name: bufbuildName,
      compiles: true,
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
export function withBigInts(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(withBigInts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withBigInts(each)]));
}

export async function engines(): Promise<readonly Engine[]> {
  return [ours('kidp', 'code'), ours('kidp (closures)', 'closures'), byHand, ...(await peers())];
}
