/**
 * Evaluates the same expressions and objects with the real environment of Kubernetes and with the engine, and compares.
 */
import type { Value } from '../../../src/cel/index.ts';
import type { Oracle, OracleAnswer, OracleAuthorizer, WireValue } from '../../support/cel-oracle.ts';
import { admissionEnvironment } from './admission.ts';
import { authorizerOf } from './authorizer.ts';
import { answer, type Backend, backends, type EngineAnswer } from './engine.ts';
import type { Case } from './generate.ts';
import { parseJson } from './json.ts';
import { canonical } from './wire.ts';

export interface Difference {
  readonly expression: string;
  readonly variables: string;
  readonly backend: Backend;
  readonly kubernetes: string;
  readonly ours: string;
}

export interface Comparison {
  readonly cases: number;
  /** The number of cases for which Kubernetes has a value. */
  readonly values: number;
  /** The number of cases in which the oracle panicked. */
  readonly panics: number;
  /** Cases with different values, or with an error on one side only. */
  readonly wrong: readonly Difference[];
  /** Cases with a compile-time error on one side and a run-time error on the other. */
  readonly early: readonly Difference[];
  readonly costs: {
    readonly compared: number;
    /** Costs that differ, but are not lower and are within max(2, 10 %). */
    readonly near: readonly Difference[];
    readonly wrong: readonly Difference[];
  };
  /** How often each function or macro occurred in evaluated expressions. */
  readonly met: ReadonlyMap<string, number>;
}

const authorizer: OracleAuthorizer = {
  user: { name: 'alice', groups: ['dev'] },
  rules: [
    { path: '/healthz', decision: 'allow', reason: 'everybody may' },
    { resource: 'pods', verb: 'get', decision: 'allow', reason: 'reader' },
    { user: 'system:serviceaccount:default:web-1', group: 'apps', decision: 'allow' },
    { resource: 'secrets', decision: 'deny', reason: 'secret', error: 'not known' },
  ],
  resource: { group: '', version: 'v1', resource: 'pods', namespace: 'default', name: 'x' },
};
const environment = admissionEnvironment();
const authorizerVariables = authorizerOf(authorizer);

/** The number of evaluations per expression: Go iterates over maps in random order, so results may vary. */
const repeats = 8;
const manyRepeats = 400;

export async function compare(oracle: Oracle, cases: readonly Case[]): Promise<Comparison> {
  const answers = await oracle.ask(cases.map((each) => requestOf(each, repeats)));
  const result = {
    cases: cases.length,
    values: 0,
    panics: 0,
    wrong: [] as Difference[],
    early: [] as Difference[],
    costs: { compared: 0, near: [] as Difference[], wrong: [] as Difference[] },
    met: new Map<string, number>(),
  };
  for (const [index, each] of cases.entries()) {
    const real = answers[index] as OracleAnswer;
    if (real.error?.kind === 'panic' || real.error?.kind === 'memory') {
      result.panics++;
      continue;
    }
    if (real.value !== undefined) result.values++;
    if (isRun(real)) for (const use of each.uses) result.met.set(use, (result.met.get(use) ?? 0) + 1);
    const variables = variablesOf(each);
    for (const backend of backends) {
      const ours = answer({ environment, expression: each.expression, variables, backend });
      await judge(oracle, each, backend, real, ours, result);
    }
  }
  return result;
}

type Findings = {
  wrong: Difference[];
  early: Difference[];
  costs: { compared: number; near: Difference[]; wrong: Difference[] };
};

async function judge(
  oracle: Oracle,
  each: Case,
  backend: Backend,
  first: OracleAnswer,
  ours: EngineAnswer,
  findings: Findings,
): Promise<void> {
  let possible = [first, ...(first.others ?? [])];
  let verdict = bestOf(possible, ours, each);
  // Our result may match a rare map order, so the oracle is asked more often before it counts as a difference.
  if (verdict !== 'same' && isRun(first) && possible.length > 1) {
    const [again] = await oracle.ask([requestOf(each, manyRepeats)]);
    possible = [again as OracleAnswer, ...(again?.others ?? [])];
    verdict = bestOf(possible, ours, each);
  }
  if (isRun(first)) findings.costs.compared++;
  if (verdict === 'same') return;
  const difference: Difference = {
    expression: each.expression,
    variables: JSON.stringify(each.variables),
    backend,
    kubernetes: textOf(first),
    ours: textOf(ours),
  };
  if (verdict === 'wrong') findings.wrong.push(difference);
  else if (verdict === 'early') findings.early.push(difference);
  else findings.costs[verdict === 'near' ? 'near' : 'wrong'].push(difference);
}

const verdicts = ['same', 'near', 'cost', 'early', 'wrong'] as const;
type Verdict = (typeof verdicts)[number];

function bestOf(possible: readonly OracleAnswer[], ours: EngineAnswer, of: Case): Verdict {
  const all = possible.map((real) => verdictOn(real, ours, of));
  return verdicts.find((each) => all.includes(each)) ?? 'wrong';
}

function verdictOn(real: OracleAnswer, ours: EngineAnswer, { uses }: Case): Verdict {
  const isOver = /cost limit exceeded/.test(real.error?.message ?? '');
  if (isOver !== (ours.error?.codes.includes('cost_exceeded') ?? false)) return 'wrong';
  if ((real.error === undefined) !== (ours.error === undefined)) return 'wrong';
  if (real.value !== undefined && canonical(real.value) !== canonical(ours.value ?? {})) {
    const same = uses.includes('_+_') && withoutBytes(real.value) === withoutBytes(ours.value ?? {});
    if (!same) return 'wrong';
  }
  // Errors of constant folding in cel-go may be compile-time or run-time errors.
  if (real.error?.kind === 'program') return 'same';
  if (isRun(real) !== (ours.error?.kind !== 'check')) return 'early';
  // If Go panicked or the budget was exceeded, the cost is that of an incomplete run.
  if (isOver || real.error?.message.startsWith('internal error:')) return 'same';
  if (real.cost === undefined || ours.cost === undefined || real.cost === ours.cost) return 'same';
  return ours.cost > real.cost && ours.cost - real.cost <= Math.max(2, real.cost / 10) ? 'near' : 'cost';
}

/**
 * cel-go appends the right operand of a sum of bytes in place if the left one has spare capacity, so a later sum in a
 * loop may overwrite an earlier one: the content of the bytes is then arbitrary, but not their number.
 */
const withoutBytes = (value: WireValue): string =>
  canonical(value).replace(
    /(\\*"bytes\\*":\\*")([A-Za-z0-9+/=]*)/g,
    (_, key: string, text: string) => key + Buffer.from(text, 'base64').length,
  );

/** Reports whether the expression was evaluated. */
const isRun = ({ error }: OracleAnswer) => error === undefined || error.kind === 'eval';

function textOf(said: OracleAnswer | EngineAnswer): string {
  const { value, error, cost } = said;
  const what = error === undefined ? canonical(value ?? {}) : `${error.kind} error: ${error.message}`;
  return `${what} (cost ${cost ?? 'none'})`;
}

function requestOf({ expression, variables }: Case, repeat: number): string {
  const texts = Object.entries(variables).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  const rest = JSON.stringify({ expression, mutation: true, authorizer, repeat });
  return `{${texts.join(',')},${rest.slice(1)}`;
}

function variablesOf(each: Case): Record<string, Value> {
  const texts = Object.entries(each.variables).map(([name, text]) => [name, parseJson(text)] as const);
  return { ...Object.fromEntries(texts), ...authorizerVariables };
}
