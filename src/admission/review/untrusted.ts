/**
 * What an answer holds for a caller that may be anyone on the network: whether the request is admitted, and the policies and
 * rules that deny it. Messages, codes, warnings and annotations can contain or depend on what was read with the rights of
 * the platform, so they are left out (docs/security/authenticate-the-api-server.md).
 */
import type { Decision, Violation } from './findings.ts';

const message = 'denied; details are shown only to an authenticated API server';
const next =
  'Run `kidp check -f FILE` with your own rights to see them, or ask an administrator to set --client-ca (docs/security/authenticate-the-api-server.md)';

/** `withoutDetails` reduces a decision to what an untrusted caller may know. Patches hold no read values: see `Facts`. */
export function withoutDetails(decision: Decision): Decision {
  const { 'break-glass': use } = decision.auditAnnotations ?? {};
  return {
    allowed: decision.allowed,
    // A rule can deny for each of several params, and how many there are is nobody's business.
    violations: [...new Map(decision.violations.map(withoutCause).map((each) => [each.gate, each])).values()],
    warnings: [],
    patches: decision.patches,
    ...(use === undefined ? {} : { auditAnnotations: { 'break-glass': use } }),
  };
}

/** Keeps the name of a policy and its rule, of which every user can read the text. All other denials are the same. */
const withoutCause = ({ gate, rule }: Violation): Violation => ({
  gate: rule === undefined ? 'platform' : gate,
  code: rule ?? 'Denied',
  field: '',
  message,
  next,
});
