/** Phrases that several output formats share. */
import { stringify } from 'yaml';
import type { Change, ChangeClass, Json, StoredObjects, Witness } from '../../../crd-compat/index.ts';
import { plainLine } from '../../../runtime/internal.ts';
import { count } from '../../check/output/text.ts';
import type { Compared } from '../compare.ts';
import { classOf } from '../compare.ts';

/** `placeInWords` formats the place of a change, such as `.spec.size (v1)`; the definition as a whole has no version. */
export const placeInWords = ({ path, version }: Change): string =>
  path === '.' && version === ''
    ? 'the definition'
    : version === '' || path.startsWith('spec.versions[')
      ? path
      : `${path} (${version})`;

/** `nameInWords` returns the name, with the file if another definition has the same name. */
export const nameInWords = ({ name, file }: Compared): string => (file === undefined ? name : `${name} (${file})`);

export const ofClass = (compared: Compared, wanted: ChangeClass): readonly Change[] =>
  compared.verdict.changes.filter((change) => change.class === wanted);

/** `decisionInWords` says that a change was decided by syntax; empty if it was decided by the accepted values. */
export const decisionInWords = ({ decidedBy }: Change): string =>
  decidedBy === 'syntax' ? 'based on syntax, not on the accepted values' : '';

/** `tally` counts changes by class: `2 breaking, 1 risky, 3 safe`. */
export function tally(changes: readonly Change[]): string {
  const counts = (['breaking', 'risky', 'safe'] as const).map((each) => {
    const number = changes.filter((change) => change.class === each).length;
    return number === 0 ? [] : [`${number} ${each}`];
  });
  return changes.length === 0 ? 'no change' : counts.flat().join(', ');
}

const outcomes: Readonly<Record<Witness['outcome'], string>> = {
  refused: 'was accepted before and is rejected now',
  'update-refused': 'is stored, and any update of it is rejected now',
  pruned: 'loses a field now',
  changed: 'gets another value now',
  'request-fails': 'fails',
};

/** `witnessInWords` formats `this object was accepted before and is rejected now: .spec.size: 11 is more than the maximum 10`. */
export function witnessInWords({ outcome, object, update, request, because }: Witness): string {
  const what = object === undefined && request !== undefined ? request : 'this object';
  const effect = update === undefined ? outcomes[outcome] : 'is stored, and this update of it is rejected now';
  return `${what} ${effect}: ${because}`;
}

/** `witnessLines` formats the object of a witness as YAML, and the object that it is updated to. */
export const witnessLines = ({ object, update }: Witness, most: number): string[] => [
  ...(object === undefined ? [] : exampleLines(object, most)),
  ...(update === undefined ? [] : ['---', ...exampleLines(update, most)]),
];

/** `objectsInWords` returns `3 of 40 objects would break` and a line for each of the first ones. */
export function objectsInWords({ checked, broken, first }: StoredObjects): readonly string[] {
  const summary =
    checked === 0 ? 'no objects were found to check' : `${broken} of ${count(checked, 'object')} would break`;
  return [
    summary,
    ...first.map(({ namespace, name, reasons }) => {
      const [reason = '', ...more] = reasons;
      const rest = more.length === 0 ? '' : ` (and ${more.length} more)`;
      return `${namespace === undefined ? '' : `${namespace}/`}${name}: ${reason}${rest}`;
    }),
  ];
}

/** `summary` summarizes all comparisons in one line. */
export function summary(compared: readonly Compared[]): string {
  const changed = compared.filter(({ verdict }) => verdict.changes.length > 0);
  const number = (wanted: ChangeClass) => changed.filter((each) => classOf(each) === wanted).length;
  const words = (['breaking', 'risky', 'safe'] as const).map((each) => `${number(each)} ${each}`).join(', ');
  return `${count(compared.length, 'definition')} compared, ${changed.length} changed: ${words}`;
}

/** `exampleLines` formats the example object of a change as YAML, with long lists and long texts cut. */
function exampleLines(object: Json, most: number): string[] {
  const lines = stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 }).trimEnd().split('\n');
  const shown = lines.slice(0, most).map((line) => cutLine(line));
  return lines.length > most ? [...shown, `… ${lines.length - most} more lines`] : shown;
}

/** `short` formats a value in one line, cut if it is too long. */
export function short(value: unknown, most = 160): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  const line = plainLine(text).replace(/\s+/g, ' ');
  return cutLine(line, most);
}

export const cutLine = (text: string, most = 160): string => {
  const line = plainLine(text);
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};
