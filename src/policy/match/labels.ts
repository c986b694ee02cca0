/** Label selectors with the semantics of Kubernetes. */
import type { Json } from '../request.ts';
import type { LabelSelector } from '../world.ts';

export type Labels = Readonly<Record<string, unknown>>;

const NONE: Labels = Object.freeze({});

/** `labelsOf` returns the labels of an object of any shape; values that are not strings are ignored. */
export function labelsOf(object: Json | undefined | null): Labels {
  const metadata = object?.metadata as { labels?: unknown } | null | undefined;
  if (typeof metadata !== 'object' || metadata === null) return NONE;
  const { labels } = metadata;
  return typeof labels === 'object' && labels !== null && !Array.isArray(labels) ? (labels as Labels) : NONE;
}

/** `selects` matches labels against a selector; an empty selector selects everything. */
export function selects(selector: LabelSelector, labels: Labels): boolean {
  const { matchLabels, matchExpressions } = selector;
  if (matchLabels !== undefined) {
    for (const key of Object.keys(matchLabels)) if (labelOf(labels, key) !== matchLabels[key]) return false;
  }
  if (matchExpressions !== undefined) {
    for (const requirement of matchExpressions) if (!holds(requirement, labels)) return false;
  }
  return true;
}

function holds(requirement: NonNullable<LabelSelector['matchExpressions']>[number], labels: Labels): boolean {
  const value = labelOf(labels, requirement.key);
  const { values = [] } = requirement;
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}

function labelOf(labels: Labels, key: string): string | undefined {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

export const isEmptySelector = ({ matchLabels, matchExpressions }: LabelSelector): boolean =>
  Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0;
