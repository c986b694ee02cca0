/** Label selectors of webhooks: the namespaces they match, and the labels that an object needs to match. */
import type { LabelSelector } from './shapes.ts';

export function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>> = {}): boolean {
  const equal = Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    equal &&
    (selector?.matchExpressions ?? []).every(({ key = '', operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'In') return value !== undefined && values.includes(value);
      if (operator === 'NotIn') return value === undefined || !values.includes(value);
      if (operator === 'Exists') return value !== undefined;
      return operator === 'DoesNotExist' && value === undefined;
    })
  );
}

/** `labelsFor` returns the smallest set of labels that matches; undefined if the selector is contradictory. */
export function labelsFor(selector: LabelSelector | undefined): Readonly<Record<string, string>> | undefined {
  const labels: Record<string, string> = { ...selector?.matchLabels };
  for (const { key = '', operator, values = [] } of selector?.matchExpressions ?? []) {
    if (operator === 'In') labels[key] ??= values[0] ?? '';
    if (operator === 'Exists') labels[key] ??= 'true';
  }
  return selects(selector, labels) ? labels : undefined;
}
