/** The type of the closures back end: a closure returns a value, an error or an unknown, and charges its cost. */
import type { Plan, Qualifier } from '../plan/plan.ts';
import type { Result } from '../values.ts';
import type { Frame } from './frame.ts';

export type Closure = (frame: Frame) => Result;

/** Makes the closure of a part. */
export type Compile = (plan: Plan) => Closure;

/** Sees the result of every step, as it happens. */
export type Observer = (plan: Plan | Qualifier, result: Result) => void;
