/** Formats a report as GitHub Actions workflow commands: each unsafe change becomes an annotation at its line. */
import type { Change } from '../../../crd-compat/index.ts';
import { command, problemCommand } from '../../check/output/github.ts';
import type { Compared } from '../compare.ts';
import { changedLines } from '../places.ts';
import type { CrdReport } from './format.ts';
import { decisionInWords, objectsInWords, ofClass, placeInWords, summary, witnessInWords } from './phrases.ts';

export function asGithub({ compared, problems, quiet, failOn }: CrdReport): string {
  const classes = quiet && failOn === 'breaking' ? (['breaking'] as const) : (['breaking', 'risky'] as const);
  // GitHub shows only the first annotations of a step, so breaking changes are printed first.
  const annotations = classes.flatMap((wanted) =>
    compared.flatMap((each) => ofClass(each, wanted).map((change) => annotation(change, each))),
  );
  const broken = compared.flatMap(brokenObjects);
  const plain = problems.length > 0 || quiet ? [] : [summary(compared)];
  return [...problems.map(problemCommand), ...broken, ...annotations, ...plain].map((line) => `${line}\n`).join('');
}

function annotation(change: Change, { name, before, after }: Compared): string {
  const { file, line, column } = changedLines(change, before, after).at;
  const { hits, advice, witness } = change;
  const decision = decisionInWords(change);
  const words = [
    `${placeInWords(change)}: ${change.message}`,
    ...(decision === '' ? [] : [`Decided: ${decision}`]),
    ...(hits === '' ? [] : [`Hits: ${hits}`]),
    ...(advice === '' ? [] : [`Instead: ${advice}`]),
    ...(witness === undefined ? [] : [`Shown by: ${witnessInWords(witness)}`]),
  ];
  const title = `${change.class}: ${name} (${change.kind})`;
  return command(
    change.class === 'breaking' ? 'error' : 'warning',
    { file, line, col: column, title },
    words.join('\n'),
  );
}

function brokenObjects({ name, objects, after, before }: Compared): string[] {
  if (objects === undefined || objects.broken === 0) return [];
  const { file } = (after ?? before)?.origin ?? { file: '' };
  return [command('error', { file, title: `breaking: ${name} (stored objects)` }, objectsInWords(objects).join('\n'))];
}
