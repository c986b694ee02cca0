/** Closures for selections and indexing. */
import type { AttributePlan, Qualifier } from '../plan/plan.ts';
import { NonValue, Optional, type Result, type Value } from '../values.ts';
import { hasField, isContainer, lookup, missing } from './access.ts';
import type { Closure, Compile, Observer } from './closure.ts';
import { at } from './frame.ts';
import { inside } from './optionals.ts';

/** `bare` is set if another attribute resolves this one; `observer` is called for every step but the last. */
export function attributeClosure(
  plan: AttributePlan,
  bare: boolean,
  compile: { full: Compile; bare: Compile },
  observer: Observer | undefined,
): Closure {
  const { root, qualifiers } = plan;
  const named = root.op === 'variable' || root.op === 'local';
  const operand = named || root.op === 'conditional' ? compile.bare(root) : compile.full(root);
  const steps = qualifiers.map((each) => ({
    qualifier: each,
    key: each.computed === undefined ? undefined : compile.bare(each.computed),
  }));
  const test = qualifiers.at(-1)?.test === true;
  // The root of an attribute costs 1, that of a conditional 0; has() subtracts 1.
  const rootCost = bare ? 0 : (root.op === 'conditional' ? 0 : 1) - (test ? 1 : 0);
  return (frame) => {
    let value: Result = operand(frame);
    frame.cost += rootCost;
    if (value instanceof NonValue) return value;
    let optional = false;
    if (value instanceof Optional) {
      if (value.value === undefined) return value;
      const inner = inside(value);
      if (inner instanceof NonValue) return inner;
      value = inner as Value;
      optional = true;
    }
    for (const { qualifier, key } of steps) {
      optional ||= qualifier.optional;
      const by: Result | undefined = key === undefined ? qualifier.key : key(frame);
      const next: Result | undefined =
        by instanceof NonValue ? by : step(value as Value, by as Value, qualifier, optional);
      if (next === undefined && optional) return test ? false : Optional.none;
      // A step that fails under `?` is not charged.
      if (!optional || !(next instanceof NonValue)) frame.cost++;
      value = next === undefined ? missing(value as Value, by as Value) : next;
      // The last step is the attribute itself, which is observed as a whole.
      if (qualifier.node !== plan.node) observer?.(qualifier, value);
      if (value instanceof NonValue) return at(value, qualifier.node.offset);
    }
    return optional && !test ? new Optional(value as Value) : value;
  };
}

/** Evaluates one step into a value: undefined if the entry is absent. */
function step(value: Value, key: Value, qualifier: Qualifier, optional: boolean): Result | undefined {
  if (qualifier.strict && (optional || qualifier.test) && !isContainer(value)) return missing(value, key);
  if (!qualifier.test) return lookup(value, key);
  const found = hasField(value, key as string);
  return optional && found === false ? undefined : found;
}
