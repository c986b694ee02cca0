/** Explains why a comparison, a membership test or a string test failed: the actual value and the expected one. */
import type { Call, Expr } from '../../cel/index.ts';
import { type Described, describe, isConstant, isPhrase } from './describe.ts';
import type { Inspector, Locals } from './inspector.ts';
import type { Reason } from './reason.ts';

interface Relation {
  /** The expectation, and the expectation if the comparison is negated. */
  readonly wanted: string;
  readonly unwanted: string;
  /** The relation with its operands swapped. */
  readonly mirrored: string;
}

const RELATIONS: Readonly<Record<string, Relation>> = {
  '_==_': { wanted: 'want', unwanted: 'want anything but', mirrored: '_==_' },
  '_!=_': { wanted: 'want anything but', unwanted: 'want', mirrored: '_!=_' },
  '_<_': { wanted: 'want less than', unwanted: 'want at least', mirrored: '_>_' },
  '_<=_': { wanted: 'want at most', unwanted: 'want more than', mirrored: '_>=_' },
  '_>_': { wanted: 'want more than', unwanted: 'want at most', mirrored: '_<_' },
  '_>=_': { wanted: 'want at least', unwanted: 'want less than', mirrored: '_<=_' },
};

/** String and quantity tests against another value. */
const TESTS: Readonly<Record<string, readonly [wanted: string, unwanted: string]>> = {
  startsWith: ['want prefix', 'want no prefix'],
  endsWith: ['want suffix', 'want no suffix'],
  contains: ['want a string with', 'want a string without'],
  matches: ['want a match for', 'want no match for'],
  isGreaterThan: ['want more than', 'want at most'],
  isLessThan: ['want less than', 'want at least'],
  containsIP: ['want it to contain', 'want it not to contain'],
  containsCIDR: ['want it to contain', 'want it not to contain'],
};

export const isComparison = (node: Expr): boolean =>
  node.kind === 'call' && (Object.hasOwn(RELATIONS, node.function) || node.function === '@in');

export const isTest = (node: Expr): boolean =>
  node.kind === 'call' && node.target !== undefined && node.args.length === 1 && Object.hasOwn(TESTS, node.function);

export function comparisonReason(inspector: Inspector, node: Call, locals: Locals, wanted: boolean): Reason {
  const [left, right] = node.args as [Expr, Expr];
  if (node.function === '@in') return membershipReason(inspector, left, right, locals, wanted);
  const swapped = isConstant(left) && !isConstant(right);
  const name = swapped ? (RELATIONS[node.function] as Relation).mirrored : node.function;
  const relation = RELATIONS[name] as Relation;
  const [subject, standard] = swapped ? [right, left] : [left, right];
  const phrase = wanted ? relation.wanted : relation.unwanted;
  const compared = comparedQuantities(subject, standard);
  if (compared !== undefined) return phraseReason(inspector, compared[0], compared[1], locals, phrase);
  return phraseReason(inspector, subject, standard, locals, phrase);
}

export function testReason(inspector: Inspector, node: Call, locals: Locals, wanted: boolean): Reason {
  const [positive, negative] = TESTS[node.function] as readonly [string, string];
  return phraseReason(inspector, node.target as Expr, node.args[0] as Expr, locals, wanted ? positive : negative);
}

function phraseReason(inspector: Inspector, subject: Expr, standard: Expr, locals: Locals, phrase: string): Reason {
  const size = sizedBy(subject);
  const found = describe(inspector, unwrap(size ?? subject), locals);
  const is = size === undefined ? isPhrase(found) : sizePhrase(inspector, subject, found, locals);
  return { text: `${is}, ${phrase} ${standardText(inspector, standard, locals)}`, place: found.place };
}

/** Returns x of `x.size()` or `size(x)`, which is the field to report. */
function sizedBy(node: Expr): Expr | undefined {
  if (node.kind !== 'call' || node.function !== 'size') return undefined;
  return node.target ?? node.args[0];
}

function sizePhrase(inspector: Inspector, node: Expr, of: Described, locals: Locals): string {
  const { shown } = describe(inspector, node, locals);
  return `${of.name} has size ${shown}`;
}

/** `quantity(a).compareTo(quantity(b)) <= 0` compares a with b. */
function comparedQuantities(subject: Expr, standard: Expr): readonly [Expr, Expr] | undefined {
  if (standard.kind !== 'literal' || standard.value !== 0) return undefined;
  if (subject.kind !== 'call' || subject.function !== 'compareTo' || subject.target === undefined) return undefined;
  return [subject.target, subject.args[0] as Expr];
}

/** Unwraps `quantity(x)` to x, the value in the object. */
function unwrap(node: Expr): Expr {
  if (node.kind !== 'call' || node.args.length !== 1 || node.target !== undefined) return node;
  return WRAPPERS.has(node.function) ? unwrap(node.args[0] as Expr) : node;
}

const WRAPPERS = new Set([
  'quantity',
  'int',
  'double',
  'string',
  'duration',
  'timestamp',
  'ip',
  'cidr',
  'semver',
  'url',
  'dyn',
]);

/** Writes the expected value: a constant as it is, anything else with its value. */
function standardText(inspector: Inspector, node: Expr, locals: Locals): string {
  const bare = unwrap(node);
  const { name, shown, place } = describe(inspector, bare, locals);
  if (isConstant(bare)) return shown;
  return place === undefined ? shown : `${shown} as ${name}`;
}

function membershipReason(
  inspector: Inspector,
  element: Expr,
  container: Expr,
  locals: Locals,
  wanted: boolean,
): Reason {
  if (isConstant(element) && !isConstant(container)) {
    // For `'app' in metadata.labels`, the container is the field to report.
    const found = describe(inspector, container, locals);
    const { shown } = describe(inspector, element, locals);
    const lacks = wanted ? 'lacks' : 'must not have';
    return { text: `${found.name} ${lacks} ${shown}`, place: found.place };
  }
  const phrase = wanted ? 'want one of' : 'want none of';
  return phraseReason(inspector, element, container, locals, phrase);
}
