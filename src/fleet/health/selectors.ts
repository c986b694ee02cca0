/** Label selectors of webhooks: which namespaces they are for, and which labels an object needs to be asked about. */
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

/** The fewest labels that the selector takes; undefined where it contradicts itself. */
export function labelsFor(selector: LabelSelector | undefined): Readonly<Record<string, string>> | undefined {
  const labels: Record<string, string> = { ...selector?.matchLabels };
  for (const { key = '', operator, values = [] } of selector?.matchExpressions ?? []) {
    if (operator === 'In') labels[key] ??= values[0] ?? '';
    if (operator === 'Exists') labels[key] ??= 'true';
  }
  return selects(selector, labels) ? labels : undefined;
}
