/** The literals of the CEL rules of a schema: the names they read, and the values they compare with. */
import { type Expr, walk } from '../../../cel/index.ts';
import { escapeProperty } from '../../../cel/internal.ts';
import type { CrdSchema } from '../../schema.ts';
import { parsedRule } from '../rule-program.ts';
import { traitsOf } from '../traits.ts';

export interface Mentioned {
  /** The names, escaped as in rules. */
  readonly names: ReadonlySet<string>;
  readonly texts: readonly string[];
  readonly numbers: readonly number[];
  /** Patterns for the strings that rules ask for: by match, prefix, suffix or substring. */
  readonly patterns: readonly string[];
}

export function mentionedIn(rule: string): Mentioned {
  const known = KNOWN.get(rule);
  if (known !== undefined) return known;
  const found = read(rule);
  if (KNOWN.size > 5000) KNOWN.clear();
  KNOWN.set(rule, found);
  return found;
}

/** A cache: the literals depend on the text of the rules only. */
const KNOWN = new Map<string, Mentioned>();

function read(rule: string): Mentioned {
  const found = new Collector();
  const { ast } = parsedRule(rule);
  if (ast === undefined) return found.all;
  walk(ast, (node, parent) => {
    if (node.kind === 'select') found.names.add(node.field);
    if (node.kind !== 'literal') return undefined;
    if (typeof node.value === 'number') for (const step of [0, 1, -1]) found.numbers.add(node.value + step);
    if (typeof node.value !== 'string') return undefined;
    const pattern = patternOf(node.value, parent);
    if (pattern === undefined) found.texts.add(node.value);
    else found.patterns.add(pattern);
    return undefined;
  });
  return found.all;
}

class Collector {
  readonly names = new Set<string>();
  readonly texts = new Set<string>();
  readonly numbers = new Set<number>();
  readonly patterns = new Set<string>();

  add(mentioned: Mentioned): void {
    for (const name of mentioned.names) this.names.add(name);
    for (const text of mentioned.texts) this.texts.add(text);
    for (const number of mentioned.numbers) this.numbers.add(number);
    for (const pattern of mentioned.patterns) this.patterns.add(pattern);
  }

  get all(): Mentioned {
    const { names, texts, numbers, patterns } = this;
    return { names, texts: [...texts], numbers: [...numbers], patterns: [...patterns] };
  }
}

function patternOf(text: string, parent: Expr | undefined): string | undefined {
  if (parent?.kind !== 'call') return undefined;
  const quoted = text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');
  switch (parent.function) {
    case 'matches':
      return text;
    case 'startsWith':
      return `^${quoted}`;
    case 'endsWith':
      return `${quoted}$`;
    case 'contains':
    case 'split':
      return quoted;
    default:
      return undefined;
  }
}

/** `mentionedBy` returns the literals of all rules in a schema, computed once per schema. */
export function mentionedBy(schema: CrdSchema): Mentioned {
  const found = new Collector();
  const visit = (each: CrdSchema): void => {
    for (const { rule } of each['x-kubernetes-validations'] ?? []) found.add(mentionedIn(rule));
    const { items, additionalProperties, properties } = each;
    if (items !== undefined) visit(items);
    if (typeof additionalProperties === 'object') visit(additionalProperties);
    for (const name in properties) visit(properties[name] as CrdSchema);
  };
  if (traitsOf(schema).rules) visit(schema);
  return found.all;
}

export const mentions = ({ names }: Mentioned, property: string): boolean =>
  names.size > 0 && (names.has(property) || names.has(escapeProperty(property) ?? property));
