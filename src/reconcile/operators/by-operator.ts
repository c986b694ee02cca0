/** The index of what belongs to an Operator, on the caches of OperatorDeployments and OperatorInstallations: one function, since caches are shared. */
import type { KubernetesObject } from '../../runtime/index.ts';

export const BY_OPERATOR = 'kidp-operator';

export const byOperator = {
  [BY_OPERATOR]: (object: KubernetesObject): string[] => [
    (object as KubernetesObject & { spec: { operator: string } }).spec.operator,
  ],
};
