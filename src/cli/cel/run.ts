/**
 * `kidp cel` evaluates expressions from the command line against files, without a cluster.
 *
 * Exit codes: 0 success, 1 a failed evaluation or an expression that does not type-check, 2 an expression that does not
 * parse, or input that cannot be read. A batch reports errors in its output lines and exits with 0.
 */
import { text } from 'node:stream/consumers';
import {
  type Compiled,
  environment,
  estimate,
  explain,
  format,
  formatIssues,
  NonValue,
  parse,
  type Rejected,
  type Result,
  type Step,
  typeOf,
  types,
  UNBOUNDED,
} from '../../cel/index.ts';
import { InputError } from '../common/failure.ts';
import { answer, describeProblem, problemOf, problems, toJson } from './answers.ts';
import { batch } from './batch.ts';
import { converse } from './repl.ts';
import { type CelOptions, type CelStreams, openSession, type Session } from './session.ts';

export async function evaluateOne(
  expression: string | undefined,
  options: CelOptions,
  streams: CelStreams,
): Promise<number> {
  if (expression === undefined) {
    throw new InputError('expression', 'no expression: pass one, or use --batch with lines on standard input.');
  }
  const session = await openSession(options, streams);
  const compiled = session.compile(expression);
  if (compiled.evaluate === undefined) return reject(compiled, session, options, streams);
  const budget = { spent: 0 };
  const result = compiled.evaluate(session.values(), budget);
  if (options.output === 'json') {
    const more = result instanceof NonValue ? {} : { type: JSON.stringify(typeOf(result).name) };
    streams.out.write(`${answer(compiled.source, result, { ...more, cost: String(budget.spent) })}\n`);
    return exitCode(result);
  }
  return writeResult(compiled, result, streams);
}

export async function evaluateBatch(
  expression: string | undefined,
  options: CelOptions,
  streams: CelStreams,
): Promise<number> {
  if (expression !== undefined) {
    throw new InputError('expression', '--batch reads its expressions from standard input: remove the argument.');
  }
  if (options.filename === '-' || options.old === '-' || options.params === '-') throw standardInputTaken();
  await batch(await openSession(options, streams), streams);
  return 0;
}

export async function checkOne(expression: string, options: CelOptions, streams: CelStreams): Promise<number> {
  const session = await openSession(options, streams);
  const compiled = session.compile(expression);
  if (compiled.evaluate === undefined) {
    if (options.output === 'text') return reject(compiled, session, options, streams);
    streams.out.write(`${JSON.stringify({ errors: problems(compiled) })}\n`);
    return rejectedCode(compiled, session);
  }
  const type = types.typeName(compiled.type);
  const { min, max } = estimate(compiled.checked, session.bounds);
  const bounded = max < UNBOUNDED;
  streams.out.write(
    options.output === 'json'
      ? `${JSON.stringify({ type, cost: { min, max: bounded ? max : null } })}\n`
      : `type: ${type}\ncost: ${min} to ${bounded ? max : 'unbounded: the data has no size limits'}\n`,
  );
  return 0;
}

export async function explainOne(expression: string, options: CelOptions, streams: CelStreams): Promise<number> {
  const session = await openSession(options, streams);
  const compiled = session.compile(expression);
  if (compiled.evaluate === undefined) return reject(compiled, session, options, streams);
  const { result, cost, steps, truncated, picture } = explain(compiled, session.values());
  if (options.output === 'json') {
    const parts = `[${steps.map((step) => stepToJson(step, compiled)).join(',')}]`;
    const outcome =
      result instanceof NonValue
        ? `"error":${JSON.stringify(problemOf(compiled.source, result))}`
        : `"value":${toJson(result)}`;
    streams.out.write(`{${outcome},"cost":${cost},"truncated":${truncated},"steps":${parts}}\n`);
    return exitCode(result);
  }
  streams.out.write(`${picture}\n`);
  if (result instanceof NonValue) streams.err.write(`${describeProblem(compiled.source, result)}\n`);
  return exitCode(result);
}

export async function repl(expression: string | undefined, options: CelOptions, streams: CelStreams): Promise<number> {
  if (options.filename === '-' || options.old === '-' || options.params === '-') throw standardInputTaken();
  await converse(await openSession(options, streams), expression, streams);
  return 0;
}

export async function formatOne(expression: string, options: CelOptions, streams: CelStreams): Promise<number> {
  const source = expression === '-' ? await text(streams.in) : expression;
  const { macros, language } = environment(options.environment);
  const parsed = parse(source, { macros, ...language });
  if (parsed.ast === undefined) {
    if (options.output === 'json') {
      const errors = parsed.issues.map(({ code, message, line, column }) => ({ code, message, line, column }));
      streams.out.write(`${JSON.stringify({ errors })}\n`);
    } else streams.err.write(`${formatIssues(parsed.source, parsed.issues)}\n`);
    return 2;
  }
  const formatted = format(parsed.ast);
  streams.out.write(`${options.output === 'json' ? JSON.stringify({ formatted }) : formatted}\n`);
  return 0;
}

const exitCode = (result: Result): number => (result instanceof NonValue ? 1 : 0);

function writeResult(compiled: Compiled, result: Result, streams: CelStreams): number {
  if (result instanceof NonValue) streams.err.write(`${describeProblem(compiled.source, result)}\n`);
  else streams.out.write(`${toJson(result)}\n`);
  return exitCode(result);
}

function reject(rejected: Rejected, session: Session, options: CelOptions, streams: CelStreams): number {
  if (options.output === 'json') streams.out.write(`${JSON.stringify({ error: problems(rejected)[0] })}\n`);
  else streams.err.write(`${rejected.message}\n`);
  return rejectedCode(rejected, session);
}

/** `rejectedCode` is 2 for an expression that does not parse (bad input), and 1 for one that does not type-check. */
function rejectedCode({ source }: Rejected, { environment: { macros, language } }: Session): number {
  return parse(source.text, { macros, ...language }).ast === undefined ? 2 : 1;
}

function stepToJson(step: Step, { source }: Compiled): string {
  const { start, end, offset, text, shown, count, value } = step;
  const { line, column } = source.position(offset);
  const rest = JSON.stringify({ start, end, line, column, text, shown, count });
  if (value === undefined) return rest;
  const outcome =
    value instanceof NonValue ? `"error":${JSON.stringify(problemOf(source, value))}` : `"value":${toJson(value)}`;
  return `{${outcome},${rest.slice(1)}`;
}

const standardInputTaken = (): InputError =>
  new InputError('standard-input', 'standard input is already used for the expressions: put the data into a file.');
