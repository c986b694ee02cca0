/**
 * What an answer holds for a caller that may be anyone on the network: whether the request is admitted, and who denies it.
 * Messages, warnings and annotations can contain what was read with the rights of the platform, so they are left out
 * (docs/security/authenticate-the-api-server.md).
 */
import type { Decision } from './findings.ts';

const message = 'denied; details are shown only to an authenticated API server';
const next =
  'Run `kidp check -f FILE` with your own rights to see them, or ask an administrator to set --client-ca (docs/security/authenticate-the-api-server.md)';

/** `withoutDetails` reduces a decision to what an untrusted caller may know. */
export function withoutDetails(decision: Decision): Decision {
  const { 'break-glass': use } = decision.auditAnnotations ?? {};
  return {
    allowed: decision.allowed,
    violations: decision.violations.map(({ gate, code, reason }) => ({
      gate,
      code,
      field: '',
      message,
      next,
      ...(reason === undefined ? {} : { reason }),
    })),
    warnings: [],
    patches: decision.patches,
    ...(use === undefined ? {} : { auditAnnotations: { 'break-glass': use } }),
  };
}
