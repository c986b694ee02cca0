/** Cost estimates of the standard functions, by overload; all others cost 1. */
import type { CallEstimate, EstimateNode, Range } from '../declarations.ts';
import { sameType, type Type } from '../types.ts';
import { fixed, plus, scaled, times } from './ranges.ts';
import { REGEX_LENGTH, STRING_TRAVERSAL } from './size.ts';

export function standardEstimate(
  id: string,
  target: EstimateNode | undefined,
  args: readonly EstimateNode[],
): CallEstimate {
  const [first, second] = args as [EstimateNode, EstimateNode];
  switch (id) {
    case 'string_to_bytes':
      return { cost: traversed(first), resultSize: { min: first.size.min, max: first.size.max * 4 } };
    case 'bytes_to_string':
      return { cost: traversed(first), resultSize: { min: Math.floor(first.size.min / 4), max: first.size.max } };
    case 'starts_with_string':
    case 'ends_with_string':
      return { cost: traversed(first) };
    case 'in_list':
      return { cost: second.size };
    case 'matches_string': {
      const text = scaled(plus((target as EstimateNode).size, fixed(1)), STRING_TRAVERSAL);
      return { cost: times(text, scaled(first.size, REGEX_LENGTH)) };
    }
    case 'contains_string':
      return { cost: times(traversed(target as EstimateNode), traversed(first)) };
    case 'equals':
      return { cost: equalityOf(first, second) ?? compared(first, second) };
    case 'not_equals':
      return { cost: compared(first, second) };
    default:
      return { cost: COMPARED.test(id) ? compared(first, second) : fixed(1) };
  }
}

const COMPARED = /^(less|greater)(_equals)?_(string|bytes)$/;

const traversed = (node: EstimateNode): Range => scaled(node.size, STRING_TRAVERSAL);

/** A comparison stops at the end of the shorter operand. */
function compared(left: EstimateNode, right: EstimateNode): Range {
  const max = Math.min(left.size.max, right.size.max);
  return scaled({ min: max > 0 ? 1 : 0, max }, STRING_TRAVERSAL);
}

const MAX_FORMAT_SIZE = 64;

/** The opaque types of Kubernetes are compared at a fixed cost. */
function equalityOf(left: EstimateNode, right: EstimateNode): Range | undefined {
  if (!sameType(left.type, right.type)) return undefined;
  const name = nameOf(left.type);
  if (name === undefined) return undefined;
  if (name === 'kubernetes.NamedFormat') return scaled({ min: 1, max: MAX_FORMAT_SIZE }, STRING_TRAVERSAL);
  if (name === 'kubernetes.URL') return scaled({ min: 1, max: right.sized ? right.size.max : 1 }, STRING_TRAVERSAL);
  return FIXED.has(name) ? fixed(1) : undefined;
}

const nameOf = (type: Type): string | undefined =>
  type.kind === 'object' || type.kind === 'opaque' ? type.name : undefined;

const FIXED = new Set([
  'net.IP',
  'net.CIDR',
  'kubernetes.Quantity',
  'kubernetes.Semver',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.ResourceCheck',
  'kubernetes.authorization.Decision',
]);
