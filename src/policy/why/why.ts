/**
 * Finds the sub-expression that made a rule false, with its values. It descends the tree like the evaluation did: into
 * the first false operand of `&&`, every operand of `||`, the failing element of `all`, and variables.
 */
import { type Call, CelError, type Expr } from '../../cel/index.ts';
import type { Scope } from '../engine/scope.ts';
import type { Unit } from '../engine/unit.ts';
import { comparisonReason, isComparison, isTest, testReason } from './comparisons.ts';
import { cut, describe, isAbsence, isPhrase } from './describe.ts';
import { Inspector, inspection, type Locals, NO_LOCALS } from './inspector.ts';
import { type Loop, loopOf } from './loops.ts';
import type { Place } from './place.ts';
import type { Reason } from './reason.ts';
import type { Sensitive } from './sensitive.ts';

/** The maximum length of an explanation. */
const MAX_WHY = 300;
/** The maximum number of `||` operands that are listed. */
const MAX_TERMS = 3;

export interface Why {
  readonly text: string;
  readonly place: Place | undefined;
}

/** `whyFalse` explains a rule that is false. */
export function whyFalse(unit: Unit, scope: Scope, sensitive: Sensitive, prefix?: string): Why {
  const inspector = new Inspector(unit, inspection(scope, sensitive, prefix));
  const { text, place } = because(inspector, unit.compiled.ast, NO_LOCALS, true);
  return { text: cut(text, MAX_WHY), place };
}

/** `whyMissing` explains a rule that failed because of an absent field. */
export function whyMissing(
  unit: Unit,
  error: CelError,
  scope: Scope,
  sensitive: Sensitive,
  prefix?: string,
): Why | undefined {
  if (!isAbsence(error)) return undefined;
  const inspector = new Inspector(unit, inspection(scope, sensitive, prefix));
  const node = selectionAt(unit.compiled.ast, error.offset);
  const place = node === undefined ? undefined : inspector.place(node, NO_LOCALS);
  return place === undefined ? undefined : { text: cut(`${inspector.nameOf(place)} is not set`, MAX_WHY), place };
}

function selectionAt(node: Expr, offset: number): Expr | undefined {
  if (node.kind === 'select' && node.offset === offset) return node;
  // Inside a loop the iteration is not known.
  if (node.kind === 'comprehension') return undefined;
  const inside =
    node.kind === 'select'
      ? [node.operand]
      : node.kind === 'call'
        ? [...(node.target ? [node.target] : []), ...node.args]
        : [];
  for (const child of inside) {
    const found = selectionAt(child, offset);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `because` explains why `node` does not have the value `wanted`. */
function because(inspector: Inspector, node: Expr, locals: Locals, wanted: boolean): Reason {
  if (node.kind === 'comprehension') {
    const loop = loopOf(inspector, node, locals);
    if (loop !== undefined) return becauseOfLoop(inspector, loop, locals, wanted, node);
  }
  if (node.kind === 'select' && node.test) return becauseOfPresence(inspector, node, locals, wanted);
  const variable = inspector.variable(node, locals);
  if (variable !== undefined) return because(variable, variable.unit.compiled.ast, NO_LOCALS, wanted);
  if (node.kind !== 'call') return plainReason(inspector, node, locals, wanted);
  if (isComparison(node)) return becauseOfComparison(inspector, node, locals, wanted);
  if (isTest(node)) return testReason(inspector, node, locals, wanted);
  return becauseOfCall(inspector, node, locals, wanted);
}

function becauseOfCall(inspector: Inspector, node: Call, locals: Locals, wanted: boolean): Reason {
  const [first, second, third] = node.args as [Expr, Expr, Expr];
  switch (node.function) {
    case '_&&_':
    case '_||_':
      return becauseOfTerms(inspector, node, locals, wanted);
    case '!_':
      return because(inspector, first, locals, !wanted);
    case '_?_:_': {
      const chosen = inspector.value(first, locals);
      if (typeof chosen === 'boolean') return because(inspector, chosen ? second : third, locals, wanted);
      return plainReason(inspector, node, locals, wanted);
    }
    case 'orValue': {
      const found = node.target === undefined ? undefined : describe(inspector, node.target, locals);
      if (found?.value instanceof CelError) return { text: `${isPhrase(found)}, want ${wanted}`, place: found.place };
      return plainReason(inspector, node, locals, wanted);
    }
    default:
      return plainReason(inspector, node, locals, wanted);
  }
}

/** `x == true` is explained as x. */
function becauseOfComparison(inspector: Inspector, node: Call, locals: Locals, wanted: boolean): Reason {
  const [left, right] = node.args as [Expr, Expr];
  if (node.function === '_==_' && right.kind === 'literal' && typeof right.value === 'boolean' && isLogic(left)) {
    return because(inspector, left, locals, wanted === right.value);
  }
  return comparisonReason(inspector, node, locals, wanted);
}

const isLogic = (node: Expr): boolean =>
  node.kind === 'comprehension' || isComparison(node) || isTest(node) || (node.kind === 'select' && node.test);

function becauseOfTerms(inspector: Inspector, node: Call, locals: Locals, wanted: boolean): Reason {
  const terms = termsOf(node, node.function);
  // One term decides a false `&&` and a true `||`; otherwise every term contributed.
  const one = (node.function === '_&&_') === wanted;
  const deciding = terms.filter((each) => inspector.value(each, locals) === !wanted);
  if (one) {
    const [first] = deciding;
    return first === undefined
      ? plainReason(inspector, node, locals, wanted)
      : because(inspector, first, locals, wanted);
  }
  const informative = deciding.filter((each) => !isGuard(each));
  const chosen = (informative.length > 0 ? informative : deciding).slice(0, MAX_TERMS);
  const reasons = chosen.map((each) => because(inspector, each, locals, wanted));
  if (reasons.length === 0) return plainReason(inspector, node, locals, wanted);
  return { text: reasons.map(({ text }) => text).join('; '), place: reasons[0]?.place };
}

const termsOf = (node: Expr, name: string): readonly Expr[] =>
  node.kind === 'call' && node.function === name ? node.args.flatMap((each) => termsOf(each, name)) : [node];

/** A guard such as `!has(x) || …` or `kind != 'Pod' || …` limits the rule and does not explain the violation. */
function isGuard(node: Expr): boolean {
  if (node.kind === 'call' && node.function === '!_') return isGuard(node.args[0] as Expr);
  if (node.kind === 'select') return node.test;
  if (node.kind !== 'call' || (node.function !== '_==_' && node.function !== '_!=_')) return false;
  return node.args.some(
    (each) => (each.kind === 'literal' && each.value === null) || (each.kind === 'identifier' && each.name === 'kind'),
  );
}

function becauseOfPresence(
  inspector: Inspector,
  node: Expr & { kind: 'select' },
  locals: Locals,
  wanted: boolean,
): Reason {
  const { macro: _written, ...field } = { ...node, test: false };
  const { name, place, shown } = describe(inspector, field, locals);
  return { text: wanted ? `${name} is not set` : `${name} is ${shown}, want it unset`, place };
}

function becauseOfLoop(inspector: Inspector, loop: Loop, locals: Locals, wanted: boolean, node: Expr): Reason {
  const { macro, range, predicate, turns, whole } = loop;
  const atLeast = whole ? '' : 'at least ';
  const of = describe(inspector, range, locals);
  if (macro === 'exists_one') {
    const fitting = turns.filter((turn) => inspector.value(predicate, turn) === true).length;
    const text = `${atLeast}${fitting} of ${of.name} match ${cut(inspector.text(predicate), 100)}, want ${wanted ? '' : 'not '}exactly one`;
    return { text, place: of.place };
  }
  // One element decides a false `all` and a true `exists`.
  if ((macro === 'all') === wanted) {
    const deciding = turns.filter((turn) => (inspector.value(predicate, turn) === true) !== wanted);
    const [first] = deciding;
    if (first === undefined) return plainReason(inspector, node, locals, wanted);
    const reason = because(inspector, predicate, first, wanted);
    const more = deciding.length > 1 ? ` (and ${atLeast}${deciding.length - 1} more)` : '';
    const place = reason.place ?? [...first.values()].at(-1)?.place;
    return { text: `${reason.text}${more}`, place };
  }
  if (turns.length === 0) return { text: `${of.name} is empty`, place: of.place };
  const [only] = turns;
  if (turns.length === 1 && only !== undefined) return because(inspector, predicate, only, wanted);
  const text = `${wanted ? 'none' : 'each'} of the ${whole ? '' : 'first '}${turns.length} entries of ${of.name} matches ${cut(inspector.text(predicate), 120)}`;
  return { text, place: of.place };
}

function plainReason(inspector: Inspector, node: Expr, locals: Locals, wanted: boolean): Reason {
  const found = describe(inspector, node, locals);
  if (found.place !== undefined) return { text: `${isPhrase(found)}, want ${wanted}`, place: found.place };
  const inputs = inputsOf(node).map((each) => describe(inspector, each, locals));
  const values = inputs.filter(({ shown, name }) => shown !== name).slice(0, MAX_TERMS);
  const where = values.length === 0 ? '' : ` where ${values.map(isPhrase).join(' and ')}`;
  return { text: `${found.name} is ${!wanted}${where}`, place: inputs.find(({ place }) => place !== undefined)?.place };
}

/** The operands of a call that are read from data. */
function inputsOf(node: Expr): readonly Expr[] {
  if (node.kind !== 'call') return [];
  const parts = node.target === undefined ? node.args : [node.target, ...node.args];
  return parts.flatMap((each) => {
    if (each.kind === 'literal') return [];
    return each.kind === 'call' && !/^_(\[\??_\]|\?\._)$/.test(each.function) ? inputsOf(each) : [each];
  });
}
