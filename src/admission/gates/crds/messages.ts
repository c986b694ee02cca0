/** What the gate says: each change with its reason, an example and what to do instead, how many objects it hits, and who may let it in. */
import type { Change, CrdIssue, Verdict, Witness } from '../../../crd-compat/index.ts';
import type { Violation } from '../../review/findings.ts';
import type { StoredCount } from './comparison.ts';
import { ALLOW_BREAKING, allowBreakingVerb, type Environment } from './permission.ts';
import type { Stored } from './stored-objects.ts';

const gate = 'crd compatibility';

/** A warning of more than 256 characters may be cut off on its way, and only some of them are shown. */
const longestWarning = 250;
const mostWarnings = 12;
const longestExample = 400;

export interface Subject {
  readonly name: string;
  readonly uid: string;
  readonly digest: string;
  readonly environment: Environment;
  /** What was found that would let it in, and does not count. */
  readonly notes: readonly string[];
}

/** The whole of it first, because a long denial is cut off at its end. */
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
  message: `${name}: the change is risky, and ${storedSentence(stored)}`,
  next: `Try again, or ${lowered(howToAllow(subject))}`,
});

export function unreadableViolations(
  { name, ...subject }: Subject,
  which: 'before' | 'after',
  issues: readonly CrdIssue[],
): Violation[] {
  const side = which === 'after' ? 'the new definition' : 'the definition that is stored now';
  return [
    {
      gate,
      code: 'Unreadable',
      field: 'spec',
      message: `${name}: ${side} cannot be compared, so that nobody knows what this would break`,
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
  next: 'Make a smaller change, or several one after the other; docs/crd-gate.md says what else there is',
});

export function deletionViolation(
  { name, uid, digest }: Subject,
  objects: { total: number; first: string } | { unknown: string },
  confirmation: string,
): Violation {
  const what =
    'unknown' in objects
      ? `how many objects of it there are is not known: ${objects.unknown}`
      : `there ${objects.total === 1 ? 'is' : 'are'} ${countOf(objects.total, 'object')} of it, first: ${objects.first}`;
  return {
    gate,
    code: 'DeletesObjects',
    field: '',
    message: `${name}: deleting a definition deletes all its objects, and ${what}`,
    next: `If they shall go, confirm it first: kubectl annotate crd ${name} ${confirmation}=${uid}. An Approval of ${digest} does the same`,
  };
}

export const isConfirmedWarning = (name: string, by: string, total: number | undefined): string =>
  warning(
    `${name}: ${total === undefined ? 'all its objects are' : `${countOf(total, 'object')} of it ${total === 1 ? 'is' : 'are'}`} deleted with it; let in by ${by}`,
  );

export const letInWarnings = (verdict: Verdict, stored: Stored | undefined, by: string): string[] => [
  warning(
    `${verdict.name}: a breaking change is let in by ${by}${stored === undefined ? '' : `; ${storedSentence(stored)}`}`,
  ),
  ...changeWarnings(verdict.changes.filter((change) => change.class === 'breaking')),
];

export const unusedWarnings = (verdict: Verdict, stored: Stored): string[] => [
  warning(
    `${verdict.name}: a breaking change is let in because nothing uses what it breaks; ${storedSentence(stored)}`,
  ),
  ...changeWarnings(verdict.changes.filter((change) => change.class === 'breaking')),
];

/** Without `stored` where the objects were not asked. */
export function riskyWarnings(verdict: Verdict, stored?: Stored): string[] {
  const risky = changeWarnings(verdict.changes.filter((change) => change.class === 'risky'));
  return [
    ...risky,
    ...(stored === undefined || (stored.total === 0 && stored.incomplete === undefined)
      ? []
      : [warning(`${verdict.name}: ${storedSentence(stored)}`)]),
  ];
}

/** The definition was deleted and is made anew: what was applied to the one before may not apply to this one. */
export const earlierWarnings = (verdict: Verdict, sequence: number): string[] => [
  warning(
    `${verdict.name}: an earlier definition of this name (revision ${sequence}) was deleted, and manifests that applied to it may not apply to this one`,
  ),
  ...changeWarnings(verdict.changes.filter((change) => change.class === 'breaking')),
];

export const unreadableWarnings = (name: string, issues: readonly CrdIssue[]): string[] =>
  issues
    .slice(0, 3)
    .map(({ path, message }) => warning(`${name}: a later change of it could not be compared: ${at(path, message)}`));

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
      ? `stored objects could not be looked at: ${incomplete}`
      : `only ${checked} of ${total > checked ? `about ${total}` : 'all'} stored objects were looked at: ${incomplete}`;
  return broken === 0 ? far : `${far}; ${broken} of these would break, first: ${firstOf(stored)}`;
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

function exampleOf({ object, request, because }: Witness): string {
  const shown = request ?? (object === undefined ? '' : JSON.stringify(object));
  const cut = shown.length > longestExample ? `${shown.slice(0, longestExample)}…` : shown;
  return cut === '' ? `for example: ${because}` : `for example ${cut}: ${because}`;
}

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
  const approval = `ask for an Approval with spec.subject {kind: CustomResourceDefinition, name: ${name}, uid: ${uid}, digest: "${digest}"} that somebody else approves`;
  const annotation = `annotate it with ${ALLOW_BREAKING}: "${digest}" (you need the verb ${allowBreakingVerb} on it), or `;
  const how = `To make this change all the same, ${environment === 'production' ? '' : annotation}${approval}`;
  return notes.length === 0 ? how : `${how}. ${notes.map(capital).join('. ')}`;
}

const at = (path: string, message: string): string => (path === '' ? unended(message) : `${path}: ${unended(message)}`);
const unended = (text: string): string => text.replace(/\.$/, '');
const countOf = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;
const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const lowered = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);
