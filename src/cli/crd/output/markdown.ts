/** Formats a report as a pull-request comment: the verdict, a table of the changes, and an example and advice for each. */
import { type Change, type ChangeClass, worst } from '../../../crd-compat/index.ts';
import { plainLine } from '../../../runtime/internal.ts';
import { type Compared, classOf } from '../compare.ts';
import { changedLines } from '../places.ts';
import type { CrdReport } from './format.ts';
import {
  decisionInWords,
  nameInWords,
  objectsInWords,
  ofClass,
  short,
  summary,
  tally,
  witnessInWords,
  witnessLines,
} from './phrases.ts';

const marks: Readonly<Record<ChangeClass, string>> = { breaking: '🔴', risky: '🟡', safe: '🟢' };

/** GitHub accepts comments of up to 65,536 characters. */
const MOST_CHARACTERS = 60_000;
/** The line limit of one example, so that it does not displace the others. */
const MOST_LINES = 40;

export function asMarkdown({ compared, against }: CrdReport): string {
  const verdict = worst(compared.map(classOf));
  const parts = [
    `## ${marks[verdict]} CRD compatibility: ${verdict}`,
    `${summary(compared)} (against ${code(against)}).`,
    ...compared.filter((each) => each.verdict.changes.length > 0 || each.objects !== undefined).map(definition),
  ];
  const whole = parts.join('\n\n');
  if (whole.length <= MOST_CHARACTERS) return `${whole}\n`;
  const cut = whole.slice(0, whole.lastIndexOf('\n', MOST_CHARACTERS));
  const open = (cut.match(/^<details>/gm)?.length ?? 0) > (cut.match(/^<\/details>/gm)?.length ?? 0);
  return `${cut}\n${open ? '```\n\n</details>\n' : ''}\n… truncated: run \`kidp crd diff\` for the full list.\n`;
}

function definition(compared: Compared): string {
  const serious = [...ofClass(compared, 'breaking'), ...ofClass(compared, 'risky')];
  const verdict = classOf(compared);
  return [
    `### ${marks[verdict]} ${code(nameInWords(compared))}: ${verdict} (${tally(compared.verdict.changes)})`,
    ...(compared.objects === undefined
      ? []
      : [
          objectsInWords(compared.objects)
            .map((line) => `- ${text(line)}`)
            .join('\n'),
        ]),
    ...(serious.length === 0 ? [] : [table(serious)]),
    ...serious.map((change) => details(change, compared)),
    ...safe(compared),
  ].join('\n\n');
}

function table(changes: readonly Change[]): string {
  const rows = changes.map(
    (change) =>
      `| ${marks[change.class]} ${change.class} | ${change.version} | ${code(change.path)} | ${text(change.message)} | ${change.storedObjects} | ${change.manifests} |`,
  );
  return ['| | version | field | change | stored objects | manifests |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function details(change: Change, { before, after }: Compared): string {
  const { hits, advice, witness } = change;
  const decision = decisionInWords(change);
  const lines = changedLines(change, before, after);
  const difference = [
    ...(lines.before === undefined ? [] : [`- ${short(lines.before.text)}`]),
    ...(lines.after === undefined ? [] : [`+ ${short(lines.after.text)}`]),
  ];
  const where = lines.at.line === undefined ? lines.at.file : `${lines.at.file}:${lines.at.line}`;
  return [
    '<details>',
    `<summary>${html(plainLine(`${change.path}, ${change.kind} (${where})`))}</summary>`,
    '',
    ...(difference.length === 0 ? [] : fenced('diff', difference.join('\n'))),
    ...(decision === '' ? [] : [`**Decided:** ${text(decision)}`, '']),
    ...(hits === '' ? [] : [`**Hits:** ${text(hits)}`, '']),
    ...(advice === '' ? [] : [`**Instead:** ${text(advice)}`, '']),
    ...(witness === undefined ? [] : [`**Shown by:** ${text(witnessInWords(witness))}`, '']),
    ...(witness?.object === undefined ? [] : fenced('yaml', witnessLines(witness, MOST_LINES).join('\n'))),
    '</details>',
  ].join('\n');
}

function safe(compared: Compared): string[] {
  const changes = ofClass(compared, 'safe').filter(({ kind }) => kind !== 'description-changed');
  if (changes.length === 0) return [];
  const lines = changes.map(({ path, message }) => `- ${code(path)}: ${text(message)}`);
  return [`<details>\n<summary>${changes.length} safe changes</summary>\n\n${lines.join('\n')}\n\n</details>`];
}

/** `fenced` uses a fence longer than any in the text, so that the text cannot end it. */
function fenced(language: string, content: string): string[] {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${language}`, content, fence, ''];
}

const html = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** `text` escapes text for a table or a sentence, so that text from a schema never becomes markup. */
const text = (words: string): string =>
  html(short(words, 400))
    .replace(/[\\`*_[\]|#@]/g, '\\$&')
    .replaceAll('://', ':&#8203;//');

function code(words: string): string {
  const line = short(words, 200).replaceAll('|', '\\|');
  const fence = line.includes('`') ? '``' : '`';
  return `${fence}${fence === '``' ? ` ${line} ` : line}${fence}`;
}
