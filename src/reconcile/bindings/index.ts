/**
 * Bindings: from `spec.dependencies` of an object to `status.bindings`, the condition `DependenciesBound`, and one
 * Secret per binding with the connection in the namespace of the user.
 *
 * Objects without dependencies are left alone. This module must not know how anything is deployed; deployment
 * controllers read the status.
 */
export { bindingsIn, isCopyOf } from './connection.ts';
export { addBindingReconcilers } from './controller.ts';
export {
  type Dependency,
  dependenciesOf,
  matchesDependency,
  type SourceKind,
  selectorKinds,
  type TeamOfNamespace,
} from './visible.ts';
