/** The same expressions and objects put to the real environment of Kubernetes and to our engine, and what differs. */
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
  /** Cases for which Kubernetes has a value. */
  readonly values: number;
  /** Cases that the oracle itself could not bear. */
  readonly panics: number;
  /** Where the value differs, or only one side has an error. */
  readonly wrong: readonly Difference[];
  /** Where both have an error, one before the run and one in it. */
  readonly early: readonly Difference[];
  readonly costs: {
    readonly compared: number;
    /** Not equal, but not lower and within max(2, 10 %). */
    readonly near: readonly Difference[];
    readonly wrong: readonly Difference[];
  };
  /** How often a function or macro was met in what could be evaluated. */
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

/** Go walks over maps in random order: so often is an expression evaluated to see what else can come of it. */
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
  // A rare order of a map may be ours: ask more often before calling it a difference.
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
  // What cel-go finds when it folds constants may be found before the run or in it.
  if (real.error?.kind === 'program') return 'same';
  if (isRun(real) !== (ours.error?.kind !== 'check')) return 'early';
  // Where Go itself panicked in the middle, or the budget ran out, the cost is that of an unfinished run.
  if (isOver || real.error?.message.startsWith('internal error:')) return 'same';
  if (real.cost === undefined || ours.cost === undefined || real.cost === ours.cost) return 'same';
  return ours.cost > real.cost && ours.cost - real.cost <= Math.max(2, real.cost / 10) ? 'near' : 'cost';
}

/**
 * cel-go appends the right side of a sum of bytes in place where the left has room, so that in a loop a later sum may
 * write over an earlier one: what the bytes are is then an accident, how many they are is not.
 */
const withoutBytes = (value: WireValue): string =>
  canonical(value).replace(
    /(\\*"bytes\\*":\\*")([A-Za-z0-9+/=]*)/g,
    (_, key: string, text: string) => key + Buffer.from(text, 'base64').length,
  );

/** Whether it came to an evaluation. */
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
