/** What `kidp check` has to say of one object and one rule: the shape of `-o json`, which every other format is made from. */
import type { RuleResult } from '../../policy/index.ts';
import type { LocatedObject } from '../documents/index.ts';

type Verdict = 'pass' | 'fail' | 'warn' | 'error' | 'skip';

interface ResourceReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly file: string;
  /** Of the field that is wrong, where one is known, else of the object. */
  readonly line: number;
  readonly column: number;
  /** Helm's template. */
  readonly source?: string;
}

export interface CheckResult {
  /** The policy, or the gate of the platform (`ownership`, `labels`); empty where none looked at the object. */
  readonly policy: string;
  readonly rule: string;
  readonly resource: ResourceReference;
  /** `fail`: denied at admission. `warn`: admitted with a warning, or only audited. `error`: the rule could not be evaluated. */
  readonly result: Verdict;
  readonly message: string;
  /** Whether admission would refuse the object because of this. */
  readonly denies: boolean;
  /** What made the rule false, with its values. */
  readonly why?: string;
  readonly field?: string;
  readonly severity?: string;
  readonly category?: string;
  /** `Audit` where the result is a `warn` that admission would not even warn of. */
  readonly enforcement?: 'Deny' | 'Warn' | 'Audit';
  readonly binding?: string;
  /** `namespace/name` of the PolicyException that it was skipped for. */
  readonly exception?: string;
  /** It was there at the base revision already (`--base`). */
  readonly known?: true;
}

/** Findings are what somebody should look at. */
export const isFinding = ({ result }: CheckResult): boolean =>
  result === 'fail' || result === 'warn' || result === 'error';

/** What sets the exit code: what admission would refuse, and with `warn` every other finding; never what was there before. */
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

/** Looks up positions only for findings that show one, because it costs a parse of the document. */
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

/** `Deployment team-a/web`. */
export function describeResource({ kind, namespace, name }: ResourceReference): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** One object whatever its version: what `--old` and `--base` compare by. */
export function identityOf(object: {
  apiVersion: string;
  kind: string;
  metadata: { namespace?: string; name?: string };
}): string {
  const group = object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : '';
  const { namespace = '', name = '' } = object.metadata;
  return `${group}/${object.kind}/${namespace}/${name}`;
}
