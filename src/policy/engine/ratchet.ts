/**
 * A rule with `ratchet: true` admits an update of an object that already violated it, as long as the violation gets no
 * worse: the rule is false on the old object too, and no outermost `all` fails for more elements than before. An object
 * that the policy did not match before did not violate it: a database that becomes a production database by a label
 * needs backups from then on.
 */
import type { Expr } from '../../cel/index.ts';
import { selects } from '../match/labels.ts';
import { Inspector, inspection, loopOf, NO_LOCALS, type Sensitive } from '../why/index.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import { type Evaluation, Scope } from './scope.ts';

/** The maximum number of loop elements that are counted, which is more than Kubernetes objects have. */
const MAX_COUNTED = 20_000;

export function isNoWorse(
  policy: CompiledPolicy,
  rule: CompiledRule,
  scope: Scope,
  evaluation: Evaluation,
  sensitive: Sensitive,
): boolean {
  const { subject } = scope;
  if (subject.object === null || subject.oldObject === null || subject.isUnknown('oldObject')) return false;
  const before = new Scope(subject.withObjects(subject.oldObject, subject.oldObject), evaluation);
  before.useParams(scope.params);
  const { unit } = rule;
  if (!wasJudged(policy, before) || before.compute(unit).result !== false) return false;
  const [earlier, now] = [before, scope].map((each) => {
    const inspector = new Inspector(unit, inspection(each, sensitive, undefined));
    const counts = outermostLoops(inspector, unit.compiled.ast);
    return inspector.inspection.exhausted ? undefined : counts;
  });
  // An update whose violations cannot be counted might make the object worse.
  if (earlier === undefined || now === undefined) return false;
  return now.every((count, index) => count <= (earlier[index] ?? 0));
}

/**
 * Reports whether the policy matched the old object. An update may change labels and what conditions read. An exclusion
 * by the old labels still applies to this request; a condition on oldObject concerns the change and is not evaluated on
 * the old object.
 */
function wasJudged({ model, conditions }: CompiledPolicy, before: Scope): boolean {
  const { objectSelector } = model.match;
  if (objectSelector !== undefined && !selects(objectSelector, before.subject.labels)) return false;
  return conditions.every(({ unit }) => unit.parts.includes('oldObject') || before.compute(unit).result === true);
}

/** Counts the failing elements of each outermost `all`, in source order. */
function outermostLoops(inspector: Inspector, node: Expr): readonly number[] {
  if (node.kind === 'comprehension') {
    const loop = loopOf(inspector, node, NO_LOCALS, MAX_COUNTED);
    if (loop?.macro !== 'all') return [];
    if (!loop.whole) inspector.inspection.exhausted = true;
    return [loop.turns.filter((turn) => inspector.value(loop.predicate, turn) !== true).length];
  }
  const variable = inspector.variable(node, NO_LOCALS);
  if (variable !== undefined) return outermostLoops(variable, variable.unit.compiled.ast);
  if (node.kind !== 'call' || node.target !== undefined) return [];
  return node.args.flatMap((each) => outermostLoops(inspector, each));
}
