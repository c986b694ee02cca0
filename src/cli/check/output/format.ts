/** What came of a check, in the words of whoever reads it: people, programs, GitHub, or the test and code scanning pages of a CI. */

import type { Problem } from '../../documents/index.ts';
import type { CheckResult } from '../result.ts';
import { asGithub } from './github.ts';
import { asJunit } from './junit.ts';
import { asSarif } from './sarif.ts';
import { asText } from './text.ts';

export const outputFormats = ['text', 'json', 'yaml', 'sarif', 'junit', 'github'] as const;
export type OutputFormat = (typeof outputFormats)[number];

export interface Report {
  readonly results: readonly CheckResult[];
  /** Bad input: where there is some, nothing was judged. */
  readonly problems: readonly Problem[];
  /** How many objects were looked at. */
  readonly objects: number;
  readonly failOn: 'deny' | 'warn';
  /** The revision that known findings are known from. */
  readonly base?: string;
  readonly quiet: boolean;
  readonly colour: boolean;
  readonly version: string;
}

/** `includesPasses` is true for formats that list passed rules, not only findings. */
export const includesPasses = (format: OutputFormat): boolean =>
  format === 'json' || format === 'yaml' || format === 'junit';

/** Formats that have a place for bad input; in the others it is said on standard error. */
export const includesProblems = (format: OutputFormat): boolean =>
  format === 'sarif' || format === 'junit' || format === 'github';

export async function format(report: Report, as: OutputFormat): Promise<string> {
  switch (as) {
    case 'text':
      return asText(report);
    case 'json':
      return `${JSON.stringify(shown(report), null, 2)}\n`;
    case 'yaml':
      return (await import('../../common/yaml.ts')).safeYaml(shown(report), {
        aliasDuplicateObjects: false,
        lineWidth: 0,
      });
    case 'sarif':
      return asSarif(report);
    case 'junit':
      return asJunit(report);
    case 'github':
      return asGithub(report);
  }
}

function shown({ results, quiet }: Report): readonly CheckResult[] {
  return quiet ? results.filter(({ result }) => result !== 'pass' && result !== 'skip') : results;
}
