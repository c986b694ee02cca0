/**
 * The base of the values that Kubernetes' libraries add. Compared with a value of another type Kubernetes answers
 * "no such overload", not false; cel-go then makes `==` that error and `!=` true.
 */
import { type CelError, OpaqueValue, type Value } from '../values.ts';

export abstract class ComparedValue extends OpaqueValue {
  /** The answer of `this == other`. */
  abstract override equalsOrError(other: Value): boolean | CelError;

  override equals(other: Value): boolean {
    return this.equalsOrError(other) === true;
  }
}
