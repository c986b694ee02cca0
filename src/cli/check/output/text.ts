/** For people: a line for each finding, as compilers write them, and what it comes to. */
import { resultText } from '../../../policy/index.ts';
import { plainValues } from '../../../runtime/internal.ts';
import { type CheckResult, describeResource, fails, isFinding } from '../result.ts';
import type { Report } from './format.ts';

/** The number of names that are listed of objects that are otherwise only counted. */
const MOST_NAMED = 5;

export function asText(given: Report): string {
  const report = plainValues(given);
  const paint = report.colour ? coloured : plain;
  const findings = report.results.filter(isFinding).filter((result) => !report.quiet || fails(result, report.failOn));
  const lines = findings.map((result) => findingLine(result, paint));
  if (!report.quiet) lines.push(...(lines.length > 0 ? [''] : []), ...summary(report));
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

export type Paint = (colour: keyof typeof codes, text: string) => string;

const codes = { red: 31, green: 32, yellow: 33, grey: 90, bold: 1 } as const;
export const plain: Paint = (_colour, text) => text;
export const coloured: Paint = (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m`;

function findingLine(result: CheckResult, paint: Paint): string {
  const { resource, policy, rule } = result;
  const { file, line, column, source } = resource;
  const place = paint('bold', `${file}:${line}:${column}:`);
  const from = source === undefined ? '' : paint('grey', ` (from ${source})`);
  return `${place} ${word(result, paint)}: ${describeResource(resource)}: ${policy} (${rule}): ${resultText(result)}${from}`;
}

function word(result: CheckResult, paint: Paint): string {
  if (result.known === true) return paint('grey', 'known');
  if (result.result === 'error') return paint(result.denies ? 'red' : 'yellow', 'error');
  if (result.result === 'fail') return paint('red', 'denied');
  return paint('yellow', result.enforcement === 'Audit' ? 'audit' : 'warning');
}

/** What it comes to, in a few lines. */
export function summary({ results, objects, base }: Report): string[] {
  const unmatched = results.filter(isUnmatched);
  const denied = results.filter((result) => result.denies && result.known !== true);
  const known = results.filter((result) => result.known === true);
  const warned = results.filter((result) => isFinding(result) && !result.denies && result.known !== true);
  const lines = [
    `${count(objects, 'object')}, ${count(objects - unmatched.length, 'object')} matched by policies: ${count(denied.length, 'violation')}, ${count(warned.length, 'warning')}`,
  ];
  if (base !== undefined) lines.push(`${count(known.length, 'finding')} known since ${base}`);
  if (unmatched.length > 0) {
    lines.push(
      `no policy matched ${count(unmatched.length, 'object')}: ${named(unmatched.map(({ resource }) => describeResource(resource)))}`,
    );
  }
  const skipped = Map.groupBy(
    results.filter((result) => result.result === 'skip' && !isUnmatched(result)),
    ({ message, exception }) => (exception === undefined ? message : `excepted by PolicyException ${exception}`),
  );
  for (const [reason, rules] of skipped) {
    const names = [...new Set(rules.map(({ policy, rule }) => `${policy} (${rule})`))];
    lines.push(`not judged, ${reason}: ${count(rules.length, 'time')}: ${named(names)}`);
  }
  return lines;
}

/** The one result of an object that no policy was about. */
export const isUnmatched = ({ policy, result }: CheckResult): boolean => policy === '' && result === 'skip';

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

const named = (names: readonly string[]): string =>
  names.length <= MOST_NAMED
    ? names.join(', ')
    : `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`;
