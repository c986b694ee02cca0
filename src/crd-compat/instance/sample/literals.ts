/** What the CEL rules of a schema mention: the names they read, and the values they compare with. */
import { type Expr, environment, escapeProperty, parse, walk } from '../../../cel/index.ts';
import { stringsOf } from '../../pattern/index.ts';
import type { CrdSchema } from '../../schema.ts';

export interface Mentioned {
  /** Escaped, as rules write them. */
  readonly names: ReadonlySet<string>;
  readonly texts: readonly string[];
  readonly numbers: readonly number[];
}

export function mentionedIn(rule: string): Mentioned {
  const known = KNOWN.get(rule);
  if (known !== undefined) return known;
  const found = read(rule);
  if (KNOWN.size > 5000) KNOWN.clear();
  KNOWN.set(rule, found);
  return found;
}

const KNOWN = new Map<string, Mentioned>();

function read(rule: string): Mentioned {
  const names = new Set<string>();
  const texts = new Set<string>();
  const numbers = new Set<number>();
  const env = environment('kubernetes-1.36');
  const { ast } = parse(rule, { macros: env.macros, ...env.language });
  if (ast === undefined) return { names, texts: [], numbers: [] };
  walk(ast, (node, parent) => {
    if (node.kind === 'select') names.add(node.field);
    if (node.kind !== 'literal') return undefined;
    if (typeof node.value === 'string') for (const text of textsFor(node.value, parent)) texts.add(text);
    if (typeof node.value === 'number') for (const step of [0, 1, -1]) numbers.add(node.value + step);
    return undefined;
  });
  return { names, texts: [...texts], numbers: [...numbers] };
}

/** A pattern is not itself a text to try, but what it matches is; of a part of a text, texts that have it. */
function textsFor(text: string, parent: Expr | undefined): readonly string[] {
  if (parent?.kind !== 'call') return [text];
  switch (parent.function) {
    case 'matches':
      return stringsOf({ pattern: text }).examples(3);
    case 'startsWith':
      return [text, `${text}a`];
    case 'endsWith':
      return [text, `a${text}`];
    case 'contains':
    case 'split':
      return [text, `a${text}b`];
    default:
      return [text];
  }
}

/** All that the rules anywhere in a schema mention; looked for once in each, as many samples are made of one schema. */
export function mentionedBy(schema: CrdSchema): Mentioned {
  let found = SCHEMAS.get(schema);
  if (found === undefined) {
    found = mentionedAnywhere(schema);
    SCHEMAS.set(schema, found);
  }
  return found;
}

const SCHEMAS = new WeakMap<CrdSchema, Mentioned>();

function mentionedAnywhere(schema: CrdSchema): Mentioned {
  const names = new Set<string>();
  const texts = new Set<string>();
  const numbers = new Set<number>();
  const visit = (each: CrdSchema): void => {
    for (const { rule } of each['x-kubernetes-validations'] ?? []) {
      const mentioned = mentionedIn(rule);
      for (const name of mentioned.names) names.add(name);
      for (const text of mentioned.texts) texts.add(text);
      for (const number of mentioned.numbers) numbers.add(number);
    }
    const { items, additionalProperties, properties = {}, allOf = [] } = each;
    for (const inner of [items, additionalProperties, ...Object.values(properties), ...allOf]) {
      if (typeof inner === 'object') visit(inner);
    }
  };
  visit(schema);
  return { names, texts: [...texts], numbers: [...numbers] };
}

export const mentions = ({ names }: Mentioned, property: string): boolean =>
  names.has(property) || names.has(escapeProperty(property) ?? property);
