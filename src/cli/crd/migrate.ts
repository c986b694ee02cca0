/** `kidp crd migrate OLD NEW` drafts a migration plan for each definition with a breaking change. */
import { stringify } from 'yaml';
import { oneOf } from '../check/options.ts';
import { InputError } from '../common/failure.ts';
import type { Streams } from '../common/streams.ts';
import { inputErrorOf } from '../documents/index.ts';
import { refusals } from './definitions.ts';
import { type Migration, migrationOf } from './migration.ts';
import type { CompareOptions } from './options.ts';
import { pairs, riddleProblem } from './pairs.ts';
import { notesOf, readSides } from './side.ts';

export async function migrate(old: string, now: string, options: CompareOptions, streams: Streams): Promise<number> {
  const output = oneOf('--output', options.output ?? 'markdown', ['markdown', 'yaml', 'json'] as const);
  const sides = await readSides([old, now], { ...options, standardInput: streams.in });
  const found = pairs(...sides, options.name);
  const problems = [...sides.flatMap((side) => side.problems), ...found.problems, ...found.riddles.map(riddleProblem)];
  if (problems.length > 0) throw inputErrorOf(problems);
  const refused = found.pairs.flatMap(({ before, after }) => refusals(before, after));
  if (refused.length > 0) throw inputErrorOf(refused);
  for (const note of notesOf(...sides)) streams.err.write(`note: ${note}\n`);
  const plans = found.pairs.flatMap(({ before, after }) =>
    before === undefined || after === undefined ? [] : [migrationOf(before.crd, after.crd)],
  );
  if (plans.length === 0) {
    throw new InputError('nothing', `${old} and ${now} have no definition in common: there is nothing to migrate.`);
  }
  const breaking = plans.filter(({ verdict }) => verdict.verdict === 'breaking');
  streams.out.write(written(breaking.length === 0 ? plans : breaking, output));
  return 0;
}

function written(plans: readonly Migration[], output: 'markdown' | 'yaml' | 'json'): string {
  switch (output) {
    case 'yaml':
      return plans.map(({ definition }) => `---\n${yamlOf(definition)}`).join('');
    case 'json':
      return `${JSON.stringify(plans.length === 1 ? asData(plans[0] as Migration) : plans.map(asData), null, 2)}\n`;
    case 'markdown':
      return plans.map(asMarkdown).join('\n');
  }
}

function asData({ name, verdict, sketched, versions, carries, steps, definition }: Migration) {
  return {
    name,
    verdict: verdict.verdict,
    versions,
    steps,
    conversion: carries,
    definition,
    applying: sketched.verdict,
  };
}

const yamlOf = (value: unknown): string => stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });

function asMarkdown({ name, verdict, sketched, carries, steps, definition }: Migration): string {
  const breaking = verdict.changes.filter((change) => change.class === 'breaking');
  const reasons = breaking.map(
    ({ version, path, message }) => `- ${version === '' ? '' : `${version} `}\`${path}\`: ${message}`,
  );
  const conversion = carries.flatMap(({ version, path, up, down }) => [
    `- ${version} \`${path}\``,
    `  - to the new version: ${up}`,
    `  - back: ${down}`,
  ]);
  return [
    `# ${name}`,
    '',
    breaking.length === 0 ? `The change is ${verdict.verdict}: there is nothing to migrate.` : 'Breaking changes:',
    '',
    ...(breaking.length === 0 ? [] : [...reasons, '']),
    '## Steps',
    '',
    ...steps.map((step, index) => `${index + 1}. ${step}`),
    '',
    ...(conversion.length === 0 ? [] : ['## Conversion', '', ...conversion, '']),
    '## Definition',
    '',
    `Applying it is ${sketched.verdict}. It is a draft: review it before you apply it.`,
    '',
    '```yaml',
    yamlOf(definition).trimEnd(),
    '```',
    '',
  ].join('\n');
}
