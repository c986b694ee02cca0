/** Closures that construct lists, maps and messages. */
import { LIST_CREATE, MAP_CREATE, STRUCT_CREATE } from '../cost/size.ts';
import { setOwn } from '../map.ts';
import { makeMap, optionalElement } from '../plan/fold.ts';
import type { ListPlan, MapPlan, StructPlan } from '../plan/plan.ts';
import { CelError, NonValue, type Value } from '../values.ts';
import type { Closure, Compile } from './closure.ts';
import { at } from './frame.ts';

export function listClosure(plan: ListPlan, compile: Compile): Closure {
  const elements = plan.elements.map((each) => ({ value: compile(each.plan), optional: each.optional }));
  const { offset } = plan.node;
  return paid(LIST_CREATE, (frame) => {
    const list: Value[] = [];
    for (const { value, optional } of elements) {
      const element = value(frame);
      if (element instanceof NonValue) return element;
      if (!optional) {
        list.push(element);
        continue;
      }
      const inner = optionalElement(element, 'list element');
      if (inner instanceof CelError) return at(inner, offset);
      if (inner !== undefined) list.push(inner);
    }
    return list;
  });
}

export function mapClosure(plan: MapPlan, compile: Compile): Closure {
  const entries = plan.entries.map((each) => ({
    key: compile(each.key),
    value: compile(each.value),
    optional: each.optional,
  }));
  const { offset } = plan.node;
  return paid(MAP_CREATE, (frame) => {
    const made: [Value, Value][] = [];
    for (const entry of entries) {
      const key = entry.key(frame);
      if (key instanceof NonValue) return key;
      const value = entry.value(frame);
      if (value instanceof NonValue) return value;
      const inner = entry.optional ? optionalElement(value, 'entry') : value;
      if (inner instanceof CelError) return at(inner, offset);
      if (inner !== undefined) made.push([key, inner]);
    }
    return at(makeMap(made, plan.unique), offset);
  });
}

export function structClosure(plan: StructPlan, compile: Compile): Closure {
  const fields = plan.fields.map((each) => ({ ...each, value: compile(each.plan) }));
  const { offset } = plan.node;
  return paid(STRUCT_CREATE, (frame) => {
    const made: Record<string, Value> = {};
    for (const field of fields) {
      const value = field.value(frame);
      if (value instanceof NonValue) return value;
      const inner = field.optional ? optionalElement(value, `entry '${field.name}'`) : value;
      if (inner instanceof CelError) return at(inner, offset);
      if (inner !== undefined) setOwn(made, field.name, inner);
    }
    return at(plan.construct(made), offset);
  });
}

/** Charges the cost of construction after the elements are evaluated, even if that failed. */
function paid(cost: number, make: Closure): Closure {
  return (frame) => {
    const made = make(frame);
    frame.cost += cost;
    return made;
  };
}
