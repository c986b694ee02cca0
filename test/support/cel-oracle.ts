/**
 * The oracle of test/oracle as a test sees it: built once into the user's cache, asked over its standard input.
 * The protocol is in test/oracle/README.md.
 */
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Type } from '../../src/cel/index.ts';
import { build, cacheDirectory, type Progress, type Recipe } from '../../src/controlplane/index.ts';

/** A value with its type: an object with one key. */
export interface WireValue {
  readonly [kind: string]: unknown;
}

export interface WireDeclaration {
  readonly name: string;
  readonly type?: Type;
  readonly overloads?: readonly {
    readonly id: string;
    readonly member: boolean;
    readonly parameters: readonly Type[];
    readonly result: Type;
  }[];
}

export interface OracleRequest {
  readonly environment?: 'kubernetes' | 'latest';
  readonly do?: 'evaluate' | 'check' | 'estimate';
  readonly expression: string;
  readonly object?: unknown;
  readonly oldObject?: unknown;
  readonly params?: unknown;
  readonly request?: unknown;
  readonly namespaceObject?: unknown;
  readonly authorizer?: OracleAuthorizer;
  readonly schema?: unknown;
  readonly mutation?: boolean;
  readonly declarations?: readonly WireDeclaration[];
  readonly bindings?: Readonly<Record<string, WireValue>>;
  readonly container?: string;
  readonly disableMacros?: boolean;
  readonly disableCheck?: boolean;
  readonly repeat?: number;
}

export interface OracleRule {
  readonly user?: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly verb?: string;
  readonly selectors?: boolean;
  readonly decision: 'allow' | 'deny' | 'none';
  readonly reason?: string;
  readonly error?: string;
}

export interface OracleAuthorizer {
  readonly user: { readonly name: string; readonly groups?: readonly string[] };
  readonly rules: readonly OracleRule[];
  readonly resource?: {
    readonly group?: string;
    readonly version?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
}

export interface OracleAnswer {
  readonly value?: WireValue;
  readonly type?: Type;
  readonly cost?: number;
  readonly estimate?: { readonly min: string; readonly max: string };
  readonly error?: {
    /** `memory`: the oracle had to give it up. */
    readonly kind: 'parse' | 'check' | 'program' | 'eval' | 'request' | 'panic' | 'memory';
    readonly message: string;
  };
  readonly others?: readonly OracleAnswer[];
}

/** A request as JSON text, for what JSON.stringify cannot write (`1.0`, an int64). */
export type OracleLine = OracleRequest | string;

export interface Oracle {
  /** Answers in the order of the requests. */
  ask(requests: readonly OracleLine[]): Promise<OracleAnswer[]>;
  stop(): void;
}

const recipe: Recipe = {
  asset: 'cel-oracle',
  version: '1.36.3',
  package: '.',
  variables: {},
  output: 'oracle',
  programs: ['oracle'],
  copies: { module: 'cel.dev/expr', files: ['tests/simple/testdata/*.textproto'], into: 'cel-spec' },
  gigabytes: 3,
};

/** The folder with the built oracle and, in `cel-spec`, the test data of the cel-spec. */
export function oracleFolder(onProgress: (progress: Progress) => void = () => undefined): Promise<string> {
  return build(recipe, {
    sources: fileURLToPath(new URL('../oracle', import.meta.url)),
    cache: join(cacheDirectory(process.env), 'assets'),
    environment: process.env,
    onProgress,
  });
}

export async function startOracle(): Promise<Oracle> {
  return new OracleProcess(join(await oracleFolder(), 'oracle'));
}

/** How the oracle ends when an expression wants more memory than it may have. */
const TOO_LARGE = 3;

interface Waiting {
  readonly line: string;
  readonly resolve: (answer: OracleAnswer) => void;
  readonly reject: (error: Error) => void;
}

class OracleProcess implements Oracle {
  readonly #program: string;
  #child: ChildProcessByStdio<Writable, Readable, null>;
  /** In the order of the requests. */
  #waiting: Waiting[] = [];

  constructor(program: string) {
    this.#program = program;
    this.#child = this.#start();
  }

  #start(): ChildProcessByStdio<Writable, Readable, null> {
    const child = spawn(this.#program, [], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: child.stdout }).on('line', (line) => this.#waiting.shift()?.resolve(JSON.parse(line)));
    child.stdin.on('error', () => undefined);
    child.on('close', (code) => {
      if (code === TOO_LARGE && this.#waiting.length > 0) this.#startAgain();
      else for (const each of this.#waiting.splice(0)) each.reject(new Error(`the oracle ended with code ${code}`));
    });
    return child;
  }

  /** The request it was at gets no answer of its own; the ones behind it are asked again. */
  #startAgain(): void {
    const [given, ...left] = this.#waiting;
    this.#waiting = left;
    this.#child = this.#start();
    this.#write(left);
    given?.resolve({ error: { kind: 'memory', message: 'the oracle has not the memory for it' } });
  }

  #write(requests: readonly Waiting[]): void {
    this.#child.stdin.write(requests.map(({ line }) => `${line}\n`).join(''));
  }

  ask(requests: readonly OracleLine[]): Promise<OracleAnswer[]> {
    const lines = requests.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)));
    const added: Waiting[] = [];
    const answers = lines.map(
      (line) => new Promise<OracleAnswer>((resolve, reject) => added.push({ line, resolve, reject })),
    );
    this.#waiting.push(...added);
    this.#write(added);
    return Promise.all(answers).then((all) => {
      // These are faults of the test, not opinions on the expression.
      const fault = all.findIndex((each) => each.error?.kind === 'request');
      if (fault >= 0) throw new Error(`the oracle refused ${lines[fault]}: ${all[fault]?.error?.message}`);
      return all;
    });
  }

  stop(): void {
    this.#child.stdin.end();
  }
}

/** One test of the cel-spec. */
export interface ConformanceTest {
  readonly file: string;
  readonly section: string;
  readonly name: string;
  readonly expression: string;
  readonly disableMacros?: boolean;
  readonly disableCheck?: boolean;
  readonly checkOnly?: boolean;
  readonly container?: string;
  readonly locale?: string;
  readonly declarations: readonly WireDeclaration[];
  readonly bindings?: Readonly<Record<string, WireValue>>;
  /** Set where the test needs protocol-buffer messages: which one. */
  readonly messages?: string;
  readonly value?: WireValue;
  readonly type?: Type;
  readonly errors?: readonly string[];
  readonly unknown?: boolean;
}

/** Every test of the cel-spec, those with messages among them. */
export async function conformanceTests(): Promise<ConformanceTest[]> {
  const folder = await oracleFolder();
  return (await oracleLines(folder, ['conformance', join(folder, 'cel-spec')])) as ConformanceTest[];
}

/** The functions that Kubernetes gives its policies. */
export const kubernetesFunctions = (): Promise<WireDeclaration[]> => functionsOf([]);

/** The functions of the newest cel-go with its extensions. */
export const latestFunctions = (): Promise<WireDeclaration[]> => functionsOf(['latest']);

async function functionsOf(environment: readonly string[]): Promise<WireDeclaration[]> {
  const lines = await oracleLines(await oracleFolder(), ['declarations', ...environment]);
  return (lines as (WireDeclaration | { macro: string })[]).filter(
    (each): each is WireDeclaration => 'overloads' in each,
  );
}

async function oracleLines(folder: string, flags: readonly string[]): Promise<unknown[]> {
  const { stdout } = await promisify(execFile)(join(folder, 'oracle'), flags, { maxBuffer: 64 * 2 ** 20 });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
