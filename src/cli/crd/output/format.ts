/** The report of a comparison and its output formats: text, JSON, YAML, SARIF, GitHub annotations and Markdown. */
import type { ChangeClass } from '../../../crd-compat/index.ts';
import type { Problem } from '../../documents/index.ts';
import type { Compared } from '../compare.ts';
import { asGithub } from './github.ts';
import { asJson, shown } from './json.ts';
import { asMarkdown } from './markdown.ts';
import { asSarif } from './sarif.ts';
import { asText } from './text.ts';

export const crdFormats = ['text', 'json', 'yaml', 'sarif', 'github', 'markdown'] as const;
export type CrdFormat = (typeof crdFormats)[number];

export interface CrdReport {
  readonly compared: readonly Compared[];
  /** The problems of the input: if there are any, nothing was compared. */
  readonly problems: readonly Problem[];
  readonly failOn: Exclude<ChangeClass, 'safe'>;
  readonly quiet: boolean;
  readonly colour: boolean;
  readonly version: string;
  /** The old side, for headings. */
  readonly against: string;
}

/** `includesProblems` reports whether a format represents bad input; for the others it is printed on standard error. */
export const includesProblems = (format: CrdFormat): boolean => format === 'sarif' || format === 'github';

export async function format(report: CrdReport, as: CrdFormat): Promise<string> {
  switch (as) {
    case 'text':
      return asText(report);
    case 'json':
      return asJson(report);
    case 'yaml':
      return (await import('../../common/yaml.ts')).safeYaml(shown(report), {
        aliasDuplicateObjects: false,
        lineWidth: 0,
      });
    case 'sarif':
      return asSarif(report);
    case 'github':
      return asGithub(report);
    case 'markdown':
      return asMarkdown(report);
  }
}
