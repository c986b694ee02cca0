/** The impact of policies, for people. */
import { plainValues } from '../../runtime/internal.ts';
import type { Impact, RuleImpact, Subject } from './tally.ts';

export function impactText(given: Impact): string {
  const impact = plainValues(given);
  const lines = impact.rules.flatMap(ruleLines);
  const least = impact.complete ? '' : 'at least ';
  lines.push(
    ...(lines.length === 0 ? [] : ['']),
    `${least}${impact.denied} of ${impact.objects} objects would be denied and ${impact.warned} warned of; policies are about ${impact.matched} of them (${impact.seconds.toFixed(2)} s)`,
  );
  if (!impact.complete) lines.push('the time was up before all objects were looked at: --for gives it more');
  for (const missing of impact.missing) lines.push(`not looked at: ${missing}`);
  return `${lines.join('\n')}\n`;
}

function ruleLines(rule: RuleImpact): string[] {
  const { policy, binding, denied, first } = rule;
  const counts = [
    `denies ${denied}`,
    ...(['warned', 'audited', 'errors', 'excepted', 'skipped'] as const)
      .filter((count) => rule[count] > 0)
      .map((count) => `${words[count]} ${rule[count]}`),
  ];
  const title = `${policy}${binding === undefined ? '' : ` with ${binding}`} (${rule.rule}): ${counts.join(', ')}`;
  const more = denied - first.length;
  return [
    title,
    ...first.map((subject) => `  ${described(subject)}: ${subject.message}`),
    ...(more > 0 && first.length > 0 ? [`  and ${more} more`] : []),
  ];
}

const words = {
  warned: 'warns of',
  audited: 'audits',
  errors: 'fails on',
  excepted: 'excepts',
  skipped: 'cannot decide',
} as const;

function described({ kind, namespace, name, file, line }: Subject): string {
  const place = file === undefined ? '' : ` (${file}:${line})`;
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}${place}`;
}
