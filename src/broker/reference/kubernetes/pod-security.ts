/**
 * The security settings of the Pods that the broker creates: those of the Pod Security Standard "restricted". A DeploymentTarget can lower
 * them for Services, whose images the broker does not choose.
 */
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';

const seccompProfile = { type: 'RuntimeDefault' };

/** The security context of a Pod. Without a user, the image must name a numeric one other than 0. */
export const restrictedPod = (user?: number): Record<string, unknown> => ({
  runAsNonRoot: true,
  ...(user === undefined ? {} : { runAsUser: user, runAsGroup: user }),
  seccompProfile,
});

export const restrictedContainer = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

/** The security contexts of the Pods of a Service. */
export function serviceSecurity({ target }: DeploymentRequest): {
  pod: Record<string, unknown>;
  container: Record<string, unknown>;
} {
  const level = target.parameters?.podSecurity ?? 'restricted';
  if (level === 'restricted') return { pod: restrictedPod(), container: restrictedContainer };
  if (level === 'baseline') return { pod: { seccompProfile }, container: { allowPrivilegeEscalation: false } };
  throw permanent(
    'invalid-parameter',
    `the target ${target.name} has spec.parameters.podSecurity "${level}": set it to restricted or baseline`,
  );
}
