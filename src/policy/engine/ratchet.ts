/**
 * A rule with `ratchet: true` lets an object that was wrong before be changed as long as it gets no worse: the rule is
 * false on the old object too, and no `all` at its outside fails for more elements than it did. What the policy was not
 * about before was not wrong: who makes a database a production one by a label has to have backups from then on.
 */
import type { Expr } from '../../cel/index.ts';
import { selects } from '../match/labels.ts';
import { Inspector, inspection, loopOf, NO_LOCALS, type Sensitive } from '../why/index.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import { type Evaluation, Scope } from './scope.ts';

/** Elements of a loop that are counted: more than a Kubernetes object has of anything. */
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
 * Of what a policy selects by, an update changes the labels, and what conditions read. An exclusion by labels that the
 * object had still holds for this request; a condition on oldObject is about the change, and says nothing of what was
 * before it.
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
