/**
 * The messages of the CRD gate: each change with its reason, an example and advice, the number of affected objects, and
 * how to apply it anyway.
 */
import type { Change, CrdIssue, Verdict, Witness } from '../../../crd-compat/index.ts';
import type { Violation } from '../../review/findings.ts';
import type { StoredCount } from './comparison.ts';
import { ALLOW_BREAKING, allowBreakingVerb, type Environment } from './permission.ts';
import type { Stored } from './stored-objects.ts';

const gate = 'crd compatibility';

/** The limits of warnings: a warning of more than 256 characters may be truncated, and only some warnings are shown. */
const longestWarning = 250;
const mostWarnings = 12;
const longestExample = 400;

export interface Subject {
  readonly name: string;
  readonly uid: string;
  readonly digest: string;
  readonly environment: Environment;
  /** Approvals and annotations that do not apply, with the reason. */
  readonly notes: readonly string[];
}

/** `breakingViolations` starts with the summary, because a long denial is truncated at its end. */
export function breakingViolations(verdict: Verdict, stored: Stored, subject: Subject): Violation[] {
  const breaking = verdict.changes.filter((change) => change.class === 'breaking');
  const shown = breaking.length > 0 ? breaking : verdict.changes.filter((change) => change.class === 'risky');
  const counted =
    breaking.length > 0 ? `${countOf(breaking.length, 'breaking change')}` : 'existing objects would break';
  return [
    {
      gate,
      code: 'BreakingChange',
      field: 'spec',
      message: `${subject.name}: ${counted}; ${storedSentence(stored)}`,
      next: howToAllow(subject),
    },
    ...shown.map(violationOf),
  ];
}

export const incompleteViolation = (name: string, stored: Stored, subject: Subject): Violation => ({
  gate,
  code: 'StoredObjectsUnknown',
  field: 'spec',
  message: `${name}: the change is risky, and its effect on stored objects is unknown: ${storedSentence(stored)}`,
  next: `Retry. ${howToAllow(subject)}`,
});

export function unreadableViolations(
  { name, ...subject }: Subject,
  which: 'before' | 'after',
  issues: readonly CrdIssue[],
): Violation[] {
  const side = which === 'after' ? 'the new definition' : 'the stored definition';
  return [
    {
      gate,
      code: 'Unreadable',
      field: 'spec',
      message: `${name}: ${side} cannot be compared, so the effect of the change is unknown`,
      next: howToAllow({ name, ...subject }),
    },
    ...issues
      .slice(0, 10)
      .map(({ code, path, message, next }) => ({ gate, code, field: path, message: at(path, message), next })),
  ];
}

export const failedViolation = (name: string, why: string): Violation => ({
  gate,
  code: 'ComparisonFailed',
  field: 'spec',
  message: `${name}: the change could not be compared: ${why}`,
  next: 'Split the change into smaller ones; see docs/crd-gate.md for alternatives',
});

export function deletionViolation(
  { name, uid, digest }: Subject,
  objects: { total: number; first: string } | { unknown: string },
  confirmation: string,
): Violation {
  const what =
    'unknown' in objects
      ? `the number of its objects is unknown: ${objects.unknown}`
      : `${countOf(objects.total, 'object')} ${objects.total === 1 ? 'exists' : 'exist'}, first: ${objects.first}`;
  return {
    gate,
    code: 'StoredObjectsExist',
    field: '',
    message: `${name}: deleting a CustomResourceDefinition deletes all its objects, and ${what}`,
    next: `To delete them, confirm it first: kubectl annotate crd ${name} ${confirmation}=${uid}. Alternatively, create an Approval of the digest ${digest}; it must be approved by another user`,
  };
}

export const isConfirmedWarning = (name: string, by: string, total: number | undefined): string =>
  warning(
    `${name}: ${total === undefined ? 'all its objects are' : `${countOf(total, 'object')} ${total === 1 ? 'is' : 'are'}`} deleted with it; allowed by ${by}`,
  );

export const permittedWarnings = (verdict: Verdict, stored: Stored | undefined, by: string): string[] => [
  warning(
    `${verdict.name}: breaking change allowed by ${by}${stored === undefined ? '' : `; ${storedSentence(stored)}`}`,
  ),
  ...changeWarnings(verdict.changes.filter((change) => change.class === 'breaking')),
];

export const unusedWarnings = (verdict: Verdict, stored: Stored): string[] => [
  warning(`${verdict.name}: breaking change allowed because nothing uses what it breaks; ${storedSentence(stored)}`),
  ...changeWarnings(verdict.changes.filter((change) => change.class === 'breaking')),
];

/** `riskyWarnings` warns of risky changes. `stored` is omitted if the objects were not checked. */
export function riskyWarnings(verdict: Verdict, stored?: Stored): string[] {
  const risky = changeWarnings(verdict.changes.filter((change) => change.class === 'risky'));
  return [
    ...risky,
    ...(stored === undefined || (stored.total === 0 && stored.incomplete === undefined)
      ? []
      : [warning(`${verdict.name}: ${storedSentence(stored)}`)]),
  ];
}

/** `earlierWarnings` warns that a re-created definition might not accept manifests of the deleted one. */
export const earlierWarnings = (verdict: Verdict, sequence: number): string[] => [
  warning(
    `${verdict.name}: an earlier definition of this name (revision ${sequence}) was deleted; manifests for it might not apply to this one`,
  ),
  ...changeWarnings(verdict.changes.filter((change) => change.class === 'breaking')),
];

export const unreadableWarnings = (name: string, issues: readonly CrdIssue[]): string[] =>
  issues
    .slice(0, 3)
    .map(({ path, message }) => warning(`${name}: later changes cannot be compared: ${at(path, message)}`));

/** `3 of 2000 stored objects would break, first: default/one: .spec.size: …`. */
function storedSentence(stored: Stored): string {
  const { checked, broken, total, incomplete } = stored;
  if (incomplete === undefined) {
    if (total === 0) return 'there are no stored objects';
    return broken === 0
      ? `none of ${countOf(total, 'stored object')} would break`
      : `${broken} of ${countOf(total, 'stored object')} would break, first: ${firstOf(stored)}`;
  }
  const far =
    checked === 0
      ? `stored objects could not be checked: ${incomplete}`
      : `only ${checked} of ${total > checked ? `about ${total}` : 'all'} stored objects were checked: ${incomplete}`;
  return broken === 0 ? far : `${far}; ${broken} of them would break, first: ${firstOf(stored)}`;
}

export const storedAnnotation = ({ broken, checked, total, incomplete }: Stored): string =>
  `${broken} of ${checked} would break${incomplete === undefined ? '' : `, ${total} in all: ${incomplete}`}`.slice(
    0,
    500,
  );

function firstOf({ first: [one] }: StoredCount): string {
  if (one === undefined) return 'unknown';
  const name = one.namespace === undefined ? one.name : `${one.namespace}/${one.name}`;
  return `${name}: ${one.reasons.slice(0, 3).join('; ')}`;
}

function violationOf(change: Change): Violation {
  const { kind, version, path, message, hits, advice, witness } = change;
  const parts = [
    placed(change, message),
    ...(hits === '' ? [] : [`hits ${hits}`]),
    ...(witness === undefined ? [] : [exampleOf(witness)]),
  ];
  return {
    gate,
    code: kind,
    field: version === '' ? path : `${version} ${path}`,
    message: parts.map(unended).join('; '),
    next: advice,
  };
}

function exampleOf({ object, update, request, because }: Witness): string {
  const cut =
    update === undefined
      ? shortened(request ?? (object === undefined ? '' : JSON.stringify(object)))
      : `${shortened(JSON.stringify(object ?? {}))} updated to ${shortened(JSON.stringify(update))}`;
  return cut === '' ? `for example: ${because}` : `for example ${cut}: ${because}`;
}

const shortened = (text: string): string => (text.length > longestExample ? `${text.slice(0, longestExample)}…` : text);

const placed = ({ version, path, kind }: Change, message: string): string =>
  `${[version, path].filter((part) => part !== '').join(' ')} (${kind}): ${message}`;

const changeWarnings = (changes: readonly Change[]): string[] =>
  changes.length <= mostWarnings
    ? changes.map((change) => warning(placed(change, change.message)))
    : [
        ...changes.slice(0, mostWarnings - 1).map((change) => warning(placed(change, change.message))),
        warning(`… and ${changes.length - mostWarnings + 1} more changes`),
      ];

function warning(text: string): string {
  const whole = `${gate}: ${text}`;
  return whole.length > longestWarning ? `${whole.slice(0, longestWarning - 1)}…` : whole;
}

function howToAllow({ name, uid, digest, environment, notes }: Subject): string {
  const approval = `create an Approval with spec.subject {kind: CustomResourceDefinition, name: ${name}, uid: ${uid}, digest: "${digest}"}; it must be approved by another user`;
  const annotation = `annotate it with ${ALLOW_BREAKING}: "${digest}" (requires the verb ${allowBreakingVerb} on it), or `;
  const how = `To apply it anyway, ${environment === 'production' ? '' : annotation}${approval}`;
  return notes.length === 0 ? how : `${how}. ${notes.map(capital).join('. ')}`;
}

const at = (path: string, message: string): string => (path === '' ? unended(message) : `${path}: ${unended(message)}`);
const unended = (text: string): string => text.replace(/\.$/, '');
const countOf = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;
const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
