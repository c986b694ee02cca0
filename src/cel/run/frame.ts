/** The state of one evaluation: variables, loop variables, cost and limits. */
import { CelError, type NonValue, type Result } from '../values.ts';

/** The variables of an expression, by name. A host may put an error or an unknown where it has no value. */
export type Variables = Readonly<Record<string, Result>>;

/** The number of iterations between two interrupt checks, like cel-go in Kubernetes. */
const CHECK_FREQUENCY = 100;

export class Frame {
  readonly variables: Variables;
  readonly locals: unknown[];
  readonly limit: number;
  readonly interrupt: (() => boolean) | undefined;
  cost = 0;
  /** Iterations since the last interrupt check. */
  ticks = 0;

  constructor(variables: Variables, locals: number, limit: number, interrupt: (() => boolean) | undefined) {
    this.variables = variables;
    this.locals = new Array(locals).fill(undefined);
    this.limit = limit;
    this.interrupt = interrupt;
  }

  /** Adds to the cost and stops the evaluation if the limit is exceeded. */
  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.limit) throw new Cancelled(overBudget());
  }

  /** `tick` is called once per iteration. */
  tick(): void {
    if (this.cost > this.limit) throw new Cancelled(overBudget());
    if (++this.ticks < CHECK_FREQUENCY) return;
    this.ticks = 0;
    if (this.interrupt?.() === true) throw new Cancelled(interrupted());
  }
}

/**
 * Cancels an evaluation. It is thrown, so `||` cannot absorb it; it occurs at most once and never leaves the engine.
 */
export class Cancelled {
  readonly error: CelError;
  constructor(error: CelError) {
    this.error = error;
  }
}

export const overBudget = (): CelError =>
  new CelError('cost_exceeded', 'operation cancelled: actual cost limit exceeded');

export const interrupted = (): CelError => new CelError('interrupted', 'operation interrupted');

/** Converts a JavaScript exception (stack overflow, string too long) to an error. */
export function fromThrown(thrown: unknown): CelError {
  if (thrown instanceof Cancelled) return thrown.error;
  if (thrown instanceof RangeError) return new CelError('too_deep', `evaluation too deep or large: ${thrown.message}`);
  return new CelError('host', `host error: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
}

/** `at` sets the position of an error, unless it is already set. */
export function at<T extends Result>(result: T, offset: number): T {
  if (result instanceof CelError && result.offset < 0) result.offset = offset;
  return result;
}

/** `readAt` copies an error that the host provided for a variable and sets its position; an unknown is unchanged. */
export function readAt(result: NonValue, offset: number): NonValue {
  if (!(result instanceof CelError)) return result;
  const error = new CelError(result.code, result.message);
  error.cause = result.cause;
  error.offset = offset;
  return error;
}

export const undeclared = (name: string): CelError =>
  new CelError('undeclared_reference', `no such attribute(s): ${name}`);
