/** The type of the closures back end: a closure returns a value, an error or an unknown, and charges its cost. */
import type { Plan, Qualifier } from '../plan/plan.ts';
import type { Result } from '../values.ts';
import type { Frame } from './frame.ts';

export type Closure = (frame: Frame) => Result;

/** Compiles a part of a plan to a closure. */
export type Compile = (plan: Plan) => Closure;

/** Called with the result of every step. */
export type Observer = (plan: Plan | Qualifier, result: Result) => void;
