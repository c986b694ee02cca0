/** An explanation for people: the object, then each policy with what it saw. */
import { type PolicyExplanation, type RuleExplanation, type RuleResult, resultText } from '../../policy/index.ts';
import { mismatch } from '../../policy/internal.ts';
import { plainValues } from '../../runtime/internal.ts';
import type { ObjectExplanation } from './run.ts';

export function asText(objects: readonly ObjectExplanation[]): string {
  return `${plainValues(objects, ['picture']).map(objectText).join('\n')}`;
}

function objectText({ resource, changes, policies }: ObjectExplanation): string {
  const { kind, namespace, name, file, line } = resource;
  const named = namespace === undefined ? name : `${namespace}/${name}`;
  const lines = [`${kind} ${named} (${file}:${line})`];
  if (changes.length > 0) lines.push(...block('changed before it is judged', changes.map(shown)));
  for (const policy of policies) lines.push(...policyText(policy));
  return `${lines.join('\n')}\n`;
}

const shown = (change: ObjectExplanation['changes'][number]): string =>
  'value' in change ? `${change.op} ${change.path} ${JSON.stringify(change.value)}` : `${change.op} ${change.path}`;

function policyText(policy: PolicyExplanation): readonly string[] {
  const binding = policy.binding === undefined ? '' : ` (binding ${policy.binding})`;
  const head = `  ${policy.policyKind} ${policy.policy}${binding}`;
  if (policy.matched === 'no') return [`${head}: does not match: ${mismatch(policy)}`];
  const as = policy.template === undefined ? '' : `, as the Pod of ${policy.template}`;
  const lines = [
    policy.matched === 'yes' ? `${head}: matches${as}` : `${head}: unknown whether it matches: ${policy.matched}`,
  ];
  const answers = policy.match.map(
    ({ part, field, answer }) => `${part === 'selector' ? '' : `${part} `}${field}: ${answer}`,
  );
  if (answers.length > 0) lines.push(`    ${answers.join(', ')}`);
  for (const { name, shown: value, picture } of policy.conditions)
    lines.push(...block(`condition ${name} is ${value}`, [picture], 2));
  for (const { name, shown: value, picture } of policy.variables)
    lines.push(...block(`variables.${name} is ${value}`, [picture], 2));
  for (const rule of policy.rules) lines.push(...ruleText(rule));
  return lines;
}

function ruleText({ name, params, picture, results }: RuleExplanation): readonly string[] {
  const about = params === undefined ? '' : ` with params ${params}`;
  const said = results.map(verdictText);
  return [
    ...(said.length === 0 ? [`    rule ${name}${about}`] : said.map((words) => `    rule ${name}${about}: ${words}`)),
    ...indented(picture, 6),
  ];
}

const WORDS: Readonly<Record<RuleResult['result'], string>> = {
  pass: 'holds',
  fail: 'denied',
  warn: 'warning',
  audit: 'put on record',
  error: 'error',
  skip: 'not judged',
};

function verdictText(found: RuleResult): string {
  const word = WORDS[found.result];
  return found.message === '' ? word : `${word}: ${resultText(found)}`;
}

function block(title: string, texts: readonly string[], level = 1): readonly string[] {
  const indent = ' '.repeat(level * 2);
  return [`${indent}${title}`, ...texts.flatMap((text) => indented(text, level * 2 + 2))];
}

const indented = (text: string, by: number): readonly string[] =>
  text.split('\n').map((line) => (line === '' ? '' : ' '.repeat(by) + line));
