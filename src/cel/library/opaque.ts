/**
 * The base class of the opaque values of the Kubernetes libraries. For an operand of another type, Kubernetes returns
 * "no such overload" instead of false; cel-go then makes `==` that error and `!=` true.
 */
import { type CelError, OpaqueValue, type Value } from '../values.ts';

export abstract class ComparedValue extends OpaqueValue {
  /** Returns the result of `this == other`. */
  abstract override equalsOrError(other: Value): boolean | CelError;

  override equals(other: Value): boolean {
    return this.equalsOrError(other) === true;
  }
}
