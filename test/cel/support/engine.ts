/** Runs the engine with the questions and answers of the oracle, so that one test can compare both. */
import {
  CelError,
  compile,
  type Environment,
  type EnvironmentName,
  type ErrorCode,
  environment,
  type FunctionDeclaration,
  fn,
  type IssueCode,
  noSuchOverload,
  type Result,
  type Type,
  type Value,
} from '../../../src/cel/index.ts';
import type { WireDeclaration, WireValue } from '../../support/cel-oracle.ts';
import { toWire } from './wire.ts';

export type Backend = 'code' | 'closures';
export const backends: readonly Backend[] = ['code', 'closures'];

export interface EngineAnswer {
  readonly value?: WireValue;
  readonly type?: Type;
  readonly cost?: number;
  readonly error?: {
    /** `check` for all compile-time errors, including syntax errors. */
    readonly kind: 'check' | 'eval';
    readonly codes: readonly (ErrorCode | IssueCode)[];
    readonly message: string;
  };
}

export interface EngineQuestion {
  readonly environment: Environment;
  readonly expression: string;
  readonly variables: Readonly<Record<string, Value>>;
  readonly backend: Backend;
  readonly unchecked?: boolean;
  readonly checkOnly?: boolean;
}

export function answer(question: EngineQuestion): EngineAnswer {
  const { backend, unchecked = false } = question;
  const compiled = compile(question.expression, question.environment, { backend, unchecked });
  if (compiled.evaluate === undefined) {
    const codes = compiled.issues.map((issue) => issue.code);
    return { error: { kind: 'check', codes, message: compiled.message } };
  }
  const { type } = compiled;
  if (question.checkOnly === true) return { type };
  const budget = { spent: 0 };
  const result: Result = compiled.evaluate(question.variables, budget);
  const cost = budget.spent;
  if (!(result instanceof CelError)) return { type, cost, value: toWire(result) };
  return { type, cost, error: { kind: 'eval', codes: [result.code], message: result.message } };
}

/** Returns an environment with the declarations of a conformance test. */
export function declared(
  name: EnvironmentName,
  declarations: readonly WireDeclaration[],
  container: string,
): Environment {
  const variables: Record<string, Type> = {};
  const functions: FunctionDeclaration[] = [];
  for (const each of declarations) {
    if (each.type !== undefined) variables[each.name] = each.type;
    const overloads = (each.overloads ?? []).map((overload) => ({
      ...overload,
      implementation: () => noSuchOverload(each.name),
    }));
    if (overloads.length > 0) functions.push(fn(each.name, overloads));
  }
  return environment(name, {
    variables,
    libraries: functions.length === 0 ? [] : [{ name: 'declared', functions }],
    language: { container },
  });
}
