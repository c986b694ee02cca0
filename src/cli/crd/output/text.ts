/** Formats a report as text: every change with the changed lines, the affected objects or clients, and the advice. */
import type { Change, ChangeClass, Witness } from '../../../crd-compat/index.ts';
import { plainLine } from '../../../runtime/internal.ts';
import { coloured, count, type Paint, plain } from '../../check/output/text.ts';
import { type Compared, classOf } from '../compare.ts';
import { type ChangedLine, changedLines } from '../places.ts';
import type { CrdReport } from './format.ts';
import {
  cutLine,
  decisionInWords,
  nameInWords,
  objectsInWords,
  ofClass,
  placeInWords,
  summary,
  tally,
  witnessInWords,
  witnessLines,
} from './phrases.ts';

/** How many lines of an example are shown. */
const MOST_LINES = 20;

export function asText(report: CrdReport): string {
  const paint = report.colour ? coloured : plain;
  const shown = report.compared.filter((each) => each.verdict.changes.length > 0 || each.objects !== undefined);
  const lines = shown.flatMap((each) => {
    const shown = definitionLines(each, report, paint);
    return shown.length === 0 ? [] : [...shown, ''];
  });
  if (!report.quiet) lines.push(summary(report.compared));
  return lines.length === 0 ? '' : `${lines.join('\n').trimEnd()}\n`;
}

const colours = { breaking: 'red', risky: 'yellow', safe: 'green' } as const;

function definitionLines(compared: Compared, { quiet, failOn }: CrdReport, paint: Paint): string[] {
  const verdict = classOf(compared);
  if (quiet && verdict !== 'breaking' && verdict !== failOn) return [];
  const head = `${paint('bold', plainLine(nameInWords(compared)))}: ${painted(verdict, paint)} (${tally(compared.verdict.changes)})`;
  const serious = (['breaking', 'risky'] as const).flatMap((each) => ofClass(compared, each));
  return [
    head,
    // An Approval for exactly this change refers to it by this digest.
    ...(compared.verdict.verdict === 'breaking'
      ? [paint('grey', `  digest of this change: ${compared.verdict.digest}`)]
      : []),
    ...objectLines(compared),
    ...serious.flatMap((change) => changeLines(change, compared, paint)),
    ...(quiet ? [] : safeLines(compared, paint)),
  ];
}

const painted = (verdict: ChangeClass, paint: Paint): string => paint(colours[verdict], verdict);

function objectLines({ objects }: Compared): string[] {
  if (objects === undefined) return [];
  const [head = '', ...named] = objectsInWords(objects).map(plainLine);
  return [`  ${head}`, ...named.map((line) => `    ${line}`)];
}

function changeLines(change: Change, { before, after }: Compared, paint: Paint): string[] {
  const lines = changedLines(change, before, after);
  const { storedObjects, manifests, hits, advice, witness } = change;
  const decision = decisionInWords(change);
  const effect = `stored objects: ${storedObjects}; manifests: ${manifests}${decision === '' ? '' : `; ${decision}`}`;
  return [
    `  ${painted(change.class, paint)} ${paint('bold', plainLine(placeInWords(change)))}, ${change.kind}: ${plainLine(change.message)}`,
    ...(lines.before === undefined ? [] : [paint('red', `    - ${lineInWords(lines.before)}`)]),
    ...(lines.after === undefined ? [] : [paint('green', `    + ${lineInWords(lines.after)}`)]),
    `    ${paint('grey', effect)}`,
    ...(hits === '' ? [] : [`    hits: ${plainLine(hits)}`]),
    ...(advice === '' ? [] : [`    instead: ${plainLine(advice)}`]),
    ...(witness === undefined ? [] : shownBy(witness)),
  ];
}

const lineInWords = ({ file, line, column, text }: ChangedLine): string =>
  `${plainLine(file)}:${line}:${column}: ${cutLine(text)}`;

const shownBy = (witness: Witness): string[] => [
  `    shown by: ${plainLine(witnessInWords(witness))}`,
  ...witnessLines(witness, MOST_LINES).map((line) => `      ${line}`),
];

/** `safeLines` returns one line for each safe change; changed descriptions are only counted. */
function safeLines(compared: Compared, paint: Paint): string[] {
  const safe = ofClass(compared, 'safe');
  const described = safe.filter(({ kind }) => kind === 'description-changed').length;
  const lines = safe
    .filter(({ kind }) => kind !== 'description-changed')
    .map(
      (change) =>
        `  ${painted('safe', paint)} ${plainLine(placeInWords(change))}, ${change.kind}: ${cutLine(change.message)}`,
    );
  if (described > 0) lines.push(`  ${painted('safe', paint)} the description of ${count(described, 'field')} changed`);
  return lines;
}
