/**
 * An index of OperatorDeployments and OperatorInstallations by operator. Caches are shared, so all users need the same
 * function.
 */
import type { KubernetesObject } from '../../runtime/index.ts';

export const BY_OPERATOR = 'kidp-operator';

export const byOperator = {
  [BY_OPERATOR]: (object: KubernetesObject): string[] => [
    (object as KubernetesObject & { spec: { operator: string } }).spec.operator,
  ],
};
