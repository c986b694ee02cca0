/**
 * What uses what: `spec.dependencies` of an object comes in; out go `status.bindings`, the condition `DependenciesBound`, and for each
 * binding a Secret with the connection in the namespace of the user. An object without dependencies is left alone. It must not know
 * how anything is deployed; who deploys reads the status.
 */
export { addBindingReconcilers } from './controller.ts';
export {
  type Dependency,
  dependenciesOf,
  matchesDependency,
  type SourceKind,
  selectorKinds,
  type TeamOfNamespace,
} from './visible.ts';
