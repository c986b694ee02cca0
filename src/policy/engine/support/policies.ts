/** Test helpers: policies from a partial spec, and requests from objects. */
import { readException } from '../../load/exception.ts';
import { readPolicy } from '../../load/policy.ts';
import type { AdmissionRequest, Json } from '../../request.ts';
import {
  type CompiledException,
  type CompiledPolicy,
  compileException,
  compilePolicy,
  type PolicyCompileOptions,
} from '../compile.ts';
import { type PolicySet, policySet } from '../set.ts';

/** The time of all tests. */
export const NOW = Date.parse('2026-06-01T00:00:00Z');

function policyObject(spec: object, name = 'p'): Json {
  return {
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name },
    spec: { selector: { resourceTypes: ['*'] }, ...spec },
  };
}

/** Returns a compiled policy; issues fail the test. */
export function policyFrom(spec: object, name = 'p', options: PolicyCompileOptions = {}): CompiledPolicy {
  const { model, issues } = readPolicy(policyObject(spec, name));
  if (model === undefined) throw new Error(JSON.stringify(issues, undefined, 2));
  const compiled = compilePolicy(model, options);
  if (compiled.policy === undefined) throw new Error(compiled.issues.map(({ message }) => message).join('\n'));
  return compiled.policy;
}

/** Returns a set of the policies p0, p1 … */
export const setFrom = (...specs: readonly object[]): PolicySet =>
  policySet({ policies: specs.map((spec, index) => policyFrom(spec, `p${index}`)) });

export function exceptionFrom(spec: object, metadata: object = {}): CompiledException {
  const { exception, issues } = readException({
    apiVersion: 'platform.company.com/v1',
    kind: 'PolicyException',
    metadata: { name: 'e', namespace: 'policy-exceptions', ...metadata },
    spec: { policies: [{ name: 'p' }], reason: 'because', requester: 'ada', ...spec },
  });
  if (exception === undefined) throw new Error(JSON.stringify(issues, undefined, 2));
  const compiled = compileException(exception);
  if (compiled.exception === undefined) throw new Error(compiled.issues.map(({ message }) => message).join('\n'));
  return compiled.exception;
}

/** Returns a CREATE request for the object; `more` overrides its fields. */
export function requestFor(object: Json, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const apiVersion = String(object.apiVersion);
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  const version = apiVersion.slice(slash + 1);
  return { uid: 'u', kind: { group, version, kind: String(object.kind) }, operation: 'CREATE', object, ...more };
}
