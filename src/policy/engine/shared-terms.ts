/**
 * Evaluates loops that several rules have in common once per request. `a.all(…) && b` and `a.all(…) && c` are two
 * expressions with the same loop. If a term of the outermost `&&` or `||` of a rule also occurs in another rule, the
 * rule is evaluated term by term; each result is cached and charged to every rule that has the term. If this does not
 * yield true or false, the whole rule is evaluated, so errors are the same either way.
 */
import { type Expr, format, walk } from '../../cel/index.ts';
import { type Unit, unitFor } from './unit.ts';

export interface SplitRule {
  /** The value of a term that decides the result: false for `&&`. */
  readonly decisive: boolean;
  readonly terms: readonly Unit[];
}

interface Term {
  readonly text: string;
  /** Whether caching pays off: reading a field is cheaper than a cache lookup. */
  readonly costly: boolean;
}

interface Chain {
  readonly symbol: '&&' | '||';
  readonly terms: readonly Term[];
}

/** A cache by unit. */
const CHAINS = new WeakMap<Unit, { readonly chain: Chain | undefined }>();

/** `prepareTerms` computes ahead of time what `sharedTerms` needs. */
export function prepareTerms(unit: Unit): void {
  chainOf(unit);
}

function chainOf(unit: Unit): Chain | undefined {
  let known = CHAINS.get(unit);
  if (known === undefined) {
    known = { chain: findChain(unit.compiled.ast) };
    CHAINS.set(unit, known);
  }
  return known.chain;
}

function findChain(ast: Expr): Chain | undefined {
  if (ast.kind !== 'call' || (ast.function !== '_&&_' && ast.function !== '_||_')) return undefined;
  const terms = termsOf(ast, ast.function).map((term) => ({ text: `(${format(term)})`, costly: isCostly(term) }));
  return terms.some(({ costly }) => costly) ? { symbol: ast.function === '_&&_' ? '&&' : '||', terms } : undefined;
}

const termsOf = (node: Expr, name: string): readonly Expr[] =>
  node.kind === 'call' && node.function === name ? node.args.flatMap((each) => termsOf(each, name)) : [node];

function isCostly(term: Expr): boolean {
  let found = false;
  walk(term, (node) => {
    found ||= node.kind === 'comprehension' || (node.kind === 'call' && node.function === 'matches');
    return !found;
  });
  return found;
}

/** `sharedTerms` splits each unit that has a costly term in common with another. The units read no variables. */
export function sharedTerms(units: Iterable<Unit>): ReadonlyMap<Unit, SplitRule> {
  const all = [...units];
  const counts = new Map<string, number>();
  for (const unit of all) {
    const { terms = [] } = chainOf(unit) ?? {};
    for (const { text, costly } of terms) if (costly) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const isShared = ({ text, costly }: Term): boolean => costly && (counts.get(text) ?? 0) > 1;
  const found = new Map<Unit, SplitRule>();
  for (const unit of all) {
    const chain = chainOf(unit);
    if (chain === undefined || !chain.terms.some(isShared)) continue;
    const terms = runsOf(chain, isShared).map((text) => unitFor(text, unit.needs));
    const made = terms.flatMap((each) => ('unit' in each ? [each.unit] : []));
    if (made.length === terms.length) found.set(unit, { decisive: chain.symbol === '||', terms: made });
  }
  return found;
}

/** Returns each shared term alone, and the terms between them combined. */
function runsOf({ symbol, terms }: Chain, isShared: (term: Term) => boolean): readonly string[] {
  const runs: string[] = [];
  let open: string[] = [];
  const close = (): void => {
    if (open.length > 0) runs.push(open.join(` ${symbol} `));
    open = [];
  };
  for (const term of terms) {
    if (!isShared(term)) open.push(term.text);
    else {
      close();
      runs.push(term.text);
    }
  }
  close();
  return runs;
}
