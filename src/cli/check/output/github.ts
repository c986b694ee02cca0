/** Workflow commands of GitHub Actions: each finding becomes an annotation at its line in the pull request. */

import { resultText } from '../../../policy/index.ts';
import { plainLine, plainText } from '../../../runtime/internal.ts';
import { withoutCommands } from '../../common/streams.ts';
import type { Problem } from '../../documents/index.ts';
import { type CheckResult, describeResource, isFinding } from '../result.ts';
import type { Report } from './format.ts';
import { summary } from './text.ts';

export function asGithub(report: Report): string {
  // GitHub shows the first few of a step: what fails it comes first.
  const findings = report.results.filter(isFinding).toSorted((one, other) => rank(one) - rank(other));
  const lines = [...report.problems.map(problemCommand), ...findings.map(annotation)];
  // Plain lines are for the log.
  if (report.problems.length === 0 && !report.quiet)
    lines.push(...summary(report).map((line) => withoutCommands(plainLine(line))));
  return lines.map((line) => `${line}\n`).join('');
}

export const problemCommand = ({ file, line, column, message }: Problem): string =>
  command('error', { file, line, col: column, title: 'bad input' }, message);

function rank(result: CheckResult): number {
  if (result.known === true) return 2;
  return result.denies ? 0 : 1;
}

function annotation(result: CheckResult): string {
  const { resource, policy, rule } = result;
  const level = (['error', 'warning', 'notice'] as const)[rank(result)] ?? 'notice';
  const properties = { file: resource.file, line: resource.line, col: resource.column, title: `${policy} (${rule})` };
  return command(level, properties, `${describeResource(resource)}: ${resultText(result)}`);
}

export function command(
  level: 'error' | 'warning' | 'notice',
  properties: Record<string, string | number | undefined>,
  message: string,
): string {
  const written = Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escaped(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`);
  return `::${level} ${written.join(',')}::${escaped(message)}`;
}

const escaped = (text: string): string =>
  plainText(text.replaceAll('\r\n', '\n')).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
