/**
 * Kubernetes objects: their shape, keys, owners, conditions and finalizers.
 *
 * In and out: objects. Only `applyConditions` and the finalizers write, through a `Client`. It must not know any particular kind.
 */
export {
  applyConditions,
  type DesiredCondition,
  getCondition,
  hasStatus,
  mergeConditions,
  removeCondition,
  setCondition,
  summarize,
} from './conditions.ts';
export { coreNamespaces, coreSecrets } from './core-resources.ts';
export { addFinalizer, type Cleanup, finalize, hasFinalizer, removeFinalizer } from './finalizers.ts';
export {
  apiVersionOf,
  type Condition,
  formatKey,
  type KubernetesObject,
  keyOf,
  type ObjectKey,
  type ObjectMeta,
  type OwnerReference,
  type Resource,
  type UnknownObject,
} from './object.ts';
export { controllerOf, controllerReference } from './owner.ts';
