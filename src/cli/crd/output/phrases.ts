/** Words that several formats share. */
import { stringify } from 'yaml';
import type { Change, ChangeClass, Json, StoredObjects, Witness } from '../../../crd-compat/index.ts';
import { count } from '../../check/output/text.ts';
import type { Compared } from '../compare.ts';
import { classOf } from '../compare.ts';

/** `.spec.size (v1)`; the whole definition has no version. */
export const placeInWords = ({ path, version }: Change): string =>
  path === '.' && version === ''
    ? 'the definition'
    : version === '' || path.startsWith('spec.versions[')
      ? path
      : `${path} (${version})`;

/** The name; with the file where another definition has the same one. */
export const nameInWords = ({ name, file }: Compared): string => (file === undefined ? name : `${name} (${file})`);

export const ofClass = (compared: Compared, wanted: ChangeClass): readonly Change[] =>
  compared.verdict.changes.filter((change) => change.class === wanted);

/** What is to be said where it could not be decided by what the schemas accept; empty where it could. */
export const decisionInWords = ({ decidedBy }: Change): string =>
  decidedBy === 'syntax' ? 'judged by how it is written, not by what it accepts' : '';

/** `2 breaking, 1 risky, 3 safe`. */
export function tally(changes: readonly Change[]): string {
  const counts = (['breaking', 'risky', 'safe'] as const).map((each) => {
    const number = changes.filter((change) => change.class === each).length;
    return number === 0 ? [] : [`${number} ${each}`];
  });
  return changes.length === 0 ? 'no change' : counts.flat().join(', ');
}

const outcomes: Readonly<Record<Witness['outcome'], string>> = {
  refused: 'applied before, and is refused now',
  'update-refused': 'is stored, and any update of it is refused now',
  pruned: 'loses a field now',
  changed: 'means something else now',
  'request-fails': 'fails',
};

/** `this object applied before, and is refused now: .spec.size: 11 is more than the maximum 10`. */
export function witnessInWords({ outcome, object, request, because }: Witness): string {
  const what = object === undefined && request !== undefined ? request : 'this object';
  return `${what} ${outcomes[outcome]}: ${because}`;
}

/** `3 of 40 objects would break`, and the first of them. */
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

/** What it comes to, in a line. */
export function summary(compared: readonly Compared[]): string {
  const changed = compared.filter(({ verdict }) => verdict.changes.length > 0);
  const number = (wanted: ChangeClass) => changed.filter((each) => classOf(each) === wanted).length;
  const words = (['breaking', 'risky', 'safe'] as const).map((each) => `${number(each)} ${each}`).join(', ');
  return `${count(compared.length, 'definition')} compared, ${changed.length} changed: ${words}`;
}

/** An object that shows a change, as YAML, without what nobody reads: lists of thousands, and texts as long as a limit. */
export function exampleLines(object: Json, most: number): string[] {
  const lines = stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 }).trimEnd().split('\n');
  const shown = lines.slice(0, most).map((line) => cutLine(line));
  return lines.length > most ? [...shown, `… ${lines.length - most} more lines`] : shown;
}

/** One line, cut where it would fill a screen. */
export function short(value: unknown, most = 160): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  const line = text.replace(/\s+/g, ' ');
  return cutLine(line, most);
}

export const cutLine = (line: string, most = 160): string =>
  line.length > most ? `${line.slice(0, most - 1)}…` : line;
