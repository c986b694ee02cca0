/** Reads a PolicyException from a cluster or a file into the model that is compiled. */
import { type PolicyException, policyException } from '../../api/index.ts';
import type { ExceptionModel, PolicyIssue } from '../model.ts';
import type { Json } from '../request.ts';
import { milliseconds } from './dates.ts';
import { openEnvelope } from './envelope.ts';
import { readMatch } from './match.ts';

export function readException(object: Json): { exception?: ExceptionModel; issues: PolicyIssue[] } {
  const { name, namespace, revision, spec: written, issues } = openEnvelope(object, policyException);
  if (issues.length > 0) return { issues };
  const spec = written as unknown as PolicyException['spec'];
  const exception: ExceptionModel = {
    name,
    namespace,
    revision,
    policies: spec.policies,
    ...(spec.selector === undefined ? {} : { match: readMatch(spec.selector) }),
    matchConditions: (spec.matchConditions ?? []).map((each, index) => ({
      name: each.name,
      path: `spec.matchConditions[${index}].expression`,
      text: each.expression,
    })),
    reason: spec.reason,
    requester: spec.requester,
    ...(spec.expiresAt === undefined ? {} : { expiresAt: milliseconds(spec.expiresAt) }),
  };
  return { exception, issues };
}
