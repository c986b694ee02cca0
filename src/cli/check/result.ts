/** The result of `kidp check` for one object and one rule: the shape of `-o json`, from which all other formats are derived. */
import type { RuleResult } from '../../policy/index.ts';
import type { LocatedObject } from '../documents/index.ts';

type Verdict = 'pass' | 'fail' | 'warn' | 'error' | 'skip';

interface ResourceReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly file: string;
  /** The position of the invalid field if it is known, otherwise of the object. */
  readonly line: number;
  readonly column: number;
  /** The Helm template. */
  readonly source?: string;
}

export interface CheckResult {
  /** The policy, or the gate of the platform (`ownership`, `labels`); empty if none matched the object. */
  readonly policy: string;
  readonly rule: string;
  readonly resource: ResourceReference;
  /** `fail`: denied at admission. `warn`: admitted with a warning, or only audited. `error`: the rule could not be evaluated. */
  readonly result: Verdict;
  readonly message: string;
  /** Whether admission would deny the object because of this. */
  readonly denies: boolean;
  /** The sub-expressions that made the rule false, with their values. */
  readonly why?: string;
  readonly field?: string;
  readonly severity?: string;
  readonly category?: string;
  /** `Audit` if the result is a `warn` that admission only audits. */
  readonly enforcement?: 'Deny' | 'Warn' | 'Audit';
  readonly binding?: string;
  /** `namespace/name` of the PolicyException that exempts the object. */
  readonly exception?: string;
  /** Set if the base revision (`--base`) has the same finding. */
  readonly known?: true;
}

/** `isFinding` reports whether a result needs attention. */
export const isFinding = ({ result }: CheckResult): boolean =>
  result === 'fail' || result === 'warn' || result === 'error';

/** `fails` decides the exit code: denials fail, and with `warn` every other finding too; known findings never fail. */
export function fails(result: CheckResult, failOn: 'deny' | 'warn'): boolean {
  if (result.known === true) return false;
  return result.denies || (failOn === 'warn' && isFinding(result));
}

export function resultOf(located: LocatedObject, found: RuleResult): CheckResult {
  const { binding, why, field, category, exception } = found;
  const finding = found.result !== 'pass' && found.result !== 'skip';
  return {
    policy: found.policy,
    rule: found.rule,
    resource: referenceOf(located, finding ? field : undefined),
    result: found.result === 'audit' ? 'warn' : found.result,
    message: found.result === 'skip' ? (found.skipped ?? found.message) : found.message,
    denies: found.denies,
    ...(why === undefined || why === '' ? {} : { why }),
    ...(field === undefined || field === '' ? {} : { field }),
    severity: found.severity,
    ...(category === undefined ? {} : { category }),
    ...enforcementOf(found),
    ...(binding === undefined ? {} : { binding }),
    ...(exception === undefined ? {} : { exception }),
  };
}

function enforcementOf({ result }: RuleResult): Pick<CheckResult, 'enforcement'> {
  switch (result) {
    case 'fail':
      return { enforcement: 'Deny' };
    case 'warn':
      return { enforcement: 'Warn' };
    case 'audit':
      return { enforcement: 'Audit' };
    default:
      return {};
  }
}

/** `referenceOf` looks up the position of a field only for findings that show one, because that parses the document. */
export function referenceOf(located: LocatedObject, field?: string): ResourceReference {
  const { object, file, source } = located;
  const { namespace, name, generateName } = object.metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    ...(namespace === undefined ? {} : { namespace }),
    name: name ?? `${generateName}*`,
    file,
    ...located.place(field),
    ...(source === undefined || source === file ? {} : { source }),
  };
}

/** `describeResource` formats a resource as `Deployment team-a/web`. */
export function describeResource({ kind, namespace, name }: ResourceReference): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** `identityOf` identifies an object regardless of its version, for `--old` and `--base`. */
export function identityOf(object: {
  apiVersion: string;
  kind: string;
  metadata: { namespace?: string; name?: string };
}): string {
  const group = object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : '';
  const { namespace = '', name = '' } = object.metadata;
  return `${group}/${object.kind}/${namespace}/${name}`;
}
