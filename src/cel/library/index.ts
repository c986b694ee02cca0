/**
 * The function libraries of the two environments.
 *
 * In: nothing but values; the host hands in who may do what (`AuthorizationHost`).
 * Out: declarations for an environment: functions with their types, implementations and costs, types, macros, and
 * checks of literals. It must not know how an expression is parsed, checked or run.
 */
export { extendedLibraries } from './extended/index.ts';
export {
  AUTHORIZER,
  type AuthorizationAnswer,
  type AuthorizationAttributes,
  type AuthorizationHost,
  Authorizer,
  type PathAttributes,
  RESOURCE_CHECK,
  type ResourceAttributes,
  ResourceCheck,
} from './kubernetes/authorizer.ts';
export { kubernetesLibraries } from './kubernetes/index.ts';
export { constructMutation, misnamedObjects } from './kubernetes/mutation.ts';
export { Quantity, quantity } from './kubernetes/quantity.ts';
export { ComparedValue } from './opaque.ts';
