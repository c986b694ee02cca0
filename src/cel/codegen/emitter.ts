/** Generates JavaScript for every kind of plan; attributes, calls and loops have files of their own. */
import { LIST_CREATE, MAP_CREATE, STRUCT_CREATE } from '../cost/size.ts';
import { ACCUMULATOR } from '../parse/builder.ts';
import type { ListPlan, LogicPlan, MapPlan, Plan, StructPlan } from '../plan/plan.ts';
import { isOptional, type Type } from '../types.ts';
import { attribute, endsOptional, optionalAttribute, type Values, variable } from './attributes.ts';
import { call, equality } from './calls.ts';
import { fold, term } from './folds.ts';
import { block, canFail, type Generator, isBoolean, localName, surcharge, type Target } from './generator.ts';

export class Emitter implements Values {
  readonly #g: Generator;

  constructor(g: Generator) {
    this.#g = g;
  }

  value(plan: Plan, target: Target, bare = false): string {
    const g = this.#g;
    switch (plan.op) {
      case 'constant':
        return g.literal(plan.value);
      case 'variable': {
        const value = g.held(variable(plan.name));
        if (!bare) g.charge(1);
        const lost = `${g.h.lost}(${value}, ${JSON.stringify(plan.name)}, ${g.literal(plan.node.offset)})`;
        g.failIf(`${value} === undefined || ${value} instanceof ${g.h.NonValue}`, target, lost);
        g.emit(`if (${value} instanceof ${g.h.Optional}) ${g.h.bail}();`);
        return value;
      }
      case 'local':
        return this.#local(plan, target, bare);
      case 'attribute':
        return attribute(g, this, plan, target, bare);
      case 'conditional':
        return this.#conditional(plan, target);
      case 'and':
      case 'or':
        return this.#logic(plan, target);
      case 'equal':
      case 'unequal':
        return equality(g, this, plan, target);
      case 'notFalse': {
        const value = g.name();
        g.emit(`let ${value};`);
        block(g, value, (inner) => this.value(plan.operand, inner));
        g.charge(1);
        return `(${value} !== false)`;
      }
      case 'call':
        return call(g, this, plan, target);
      case 'membership': {
        const element = this.value(plan.element, target);
        const members = g.constant(plan.members);
        return g.held(
          `(typeof ${element} === 'string' ? ${members}.has(${element}) : ${members}.has(${g.h.memberKey}(${element})))`,
        );
      }
      case 'or optional':
      case 'or value':
        return this.#or(plan, target);
      case 'list':
        return this.#list(plan, target);
      case 'map':
        return this.#map(plan, target);
      case 'struct':
        return this.#struct(plan, target);
      case 'append':
        return this.#append(plan, target);
      case 'insert':
        return this.#insert(plan, target);
      case 'fold':
        return fold(g, this, plan, target);
      case 'bind':
        return this.#bind(plan, target);
    }
  }

  #local(plan: Plan & { op: 'local' }, target: Target, bare: boolean): string {
    const g = this.#g;
    const { local } = plan;
    const name = localName(local.slot);
    if (!bare) g.charge(1);
    if (local.lazy !== undefined) {
      g.flush();
      g.emit(`if (${name} === ${g.h.UNSET}) ${name} = ${name}f();`);
    }
    if (local.name === ACCUMULATOR) {
      g.failIf(`${name} instanceof ${g.h.NonValue}`, target, name);
      // The accumulator is reassigned later, so its current value is copied.
      return g.held(name);
    }
    if (local.lazy !== undefined) g.failIf(`${name} instanceof ${g.h.NonValue}`, target, name);
    if (!mayBeOptional(plan.type)) return name;
    const value = g.held(`${name} instanceof ${g.h.Optional} ? ${g.h.reread}(${name}) : ${name}`);
    g.failIf(`${value} instanceof ${g.h.NonValue}`, target, value);
    return value;
  }

  #conditional(plan: Plan & { op: 'conditional' }, target: Target): string {
    const g = this.#g;
    const condition = this.value(plan.condition, target);
    const result = g.name();
    g.flush();
    g.emit(`let ${result};`);
    g.emit(`if (${condition}${isBoolean(plan.condition) ? '' : ' === true'}) {`);
    g.apart(() => this.#branch(plan.truthy, result, target));
    g.emit(isBoolean(plan.condition) ? '} else {' : `} else if (${condition} === false) {`);
    g.apart(() => this.#branch(plan.falsy, result, target));
    if (!isBoolean(plan.condition)) {
      g.emit(`} else { ${target.fail(`${g.h.badCondition}(${condition}, ${g.literal(plan.node.offset)})`, [])}`);
    }
    g.emit('}');
    return result;
  }

  #branch(plan: Plan, result: string, target: Target): void {
    const g = this.#g;
    g.emit(`${result} = ${this.value(plan, target, true)};`);
    if (plan.op === 'constant' || plan.op === 'append' || isBoolean(plan)) return;
    g.emit(`if (${result} instanceof ${g.h.Optional}) {`);
    g.emit(`${result} = ${g.h.reread}(${result});`);
    g.failIf(`${result} instanceof ${g.h.NonValue}`, target, result);
    g.emit('}');
  }

  #logic(plan: LogicPlan, target: Target): string {
    const g = this.#g;
    const stop = plan.op === 'or';
    const result = g.name();
    const end = g.name('L');
    const terms = flatten(plan);
    g.emit(`let ${result} = ${!stop};`);
    g.emit(`${end}: {`);
    terms.forEach((each, index) => {
      term(g, this, each, result, stop, plan.node.offset);
      if (index < terms.length - 1) g.emit(`if (${result} === ${stop}) break ${end};`);
    });
    g.emit('}');
    if (canFail(plan)) g.failIf(`typeof ${result} !== 'boolean'`, target, result);
    return result;
  }

  #or(plan: Plan & { op: 'or optional' | 'or value' }, target: Target): string {
    const g = this.#g;
    const result = g.name();
    g.emit(`let ${result};`);
    const otherwise = (): void => g.apart(() => g.emit(`${result} = ${this.value(plan.otherwise, target)};`));
    if (endsOptional(plan.operand)) {
      const some = (value: string): void =>
        g.emit(`${result} = ${plan.op === 'or value' ? value : `new ${g.h.Optional}(${value})`};`);
      optionalAttribute(g, this, plan.operand, target, false, result, { some, none: otherwise });
      return result;
    }
    const operand = this.value(plan.operand, target);
    g.flush();
    g.emit(`if (!(${operand} instanceof ${g.h.Optional})) ${result} = ${operand};`);
    g.emit(`else if (${operand}.value !== undefined) ${result} = ${operand}${plan.op === 'or value' ? '.value' : ''};`);
    g.emit('else {');
    otherwise();
    g.emit('}');
    return result;
  }

  #list(plan: ListPlan, target: Target): string {
    const g = this.#g;
    const failing = surcharge(target, [String(LIST_CREATE)]);
    if (plan.elements.every((each) => !each.optional)) {
      const elements = plan.elements.map((each) => this.value(each.plan, failing));
      g.charge(LIST_CREATE);
      return g.held(`[${elements.join(', ')}]`);
    }
    const list = g.held('[]');
    for (const { plan: each, optional } of plan.elements) {
      const value = this.value(each, failing);
      if (!optional) g.emit(`${list}.push(${value});`);
      else {
        const failed = g.held(`${g.h.element}(${list}, ${value})`);
        g.failIf(`${failed} !== undefined`, failing, `${g.h.at}(${failed}, ${g.literal(plan.node.offset)})`);
      }
    }
    g.charge(LIST_CREATE);
    return list;
  }

  #map(plan: MapPlan, target: Target): string {
    const g = this.#g;
    const failing = surcharge(target, [String(MAP_CREATE)]);
    const names = plan.entries.map((each) => (each.key.op === 'constant' ? each.key.value : undefined));
    const plain = names.every((each) => typeof each === 'string') && new Set(names).size === names.length;
    if (plain && plan.entries.every((each) => !each.optional)) {
      const entries = plan.entries.map((each, index) => {
        const value = this.value(each.value, failing);
        // In brackets, `__proto__` is an ordinary key.
        return `[${JSON.stringify(names[index])}]: ${value}`;
      });
      g.charge(MAP_CREATE);
      return g.held(`{ ${entries.join(', ')} }`);
    }
    const entries = g.held('[]');
    for (const each of plan.entries) {
      const key = this.value(each.key, failing);
      const value = this.#optional(this.value(each.value, failing), each.optional, 'entry', failing, plan.node.offset);
      g.emit(`if (${value} !== undefined) ${entries}.push([${key}, ${value}]);`);
    }
    const made = g.held(`${g.h.makeMap}(${entries}, ${plan.unique})`);
    g.failIf(`${made} instanceof ${g.h.NonValue}`, failing, `${g.h.at}(${made}, ${g.literal(plan.node.offset)})`);
    g.charge(MAP_CREATE);
    return made;
  }

  #optional(value: string, optional: boolean, what: string, target: Target, offset: number): string {
    if (!optional) return value;
    const g = this.#g;
    const inner = g.held(`${g.h.entry}(${value}, ${JSON.stringify(what)})`);
    g.failIf(`${inner} instanceof ${g.h.NonValue}`, target, `${g.h.at}(${inner}, ${g.literal(offset)})`);
    return inner;
  }

  #struct(plan: StructPlan, target: Target): string {
    const g = this.#g;
    const failing = surcharge(target, [String(STRUCT_CREATE)]);
    const fields = g.held('{}');
    for (const field of plan.fields) {
      const value = this.value(field.plan, failing);
      const inner = this.#optional(value, field.optional, `entry '${field.name}'`, failing, plan.node.offset);
      // A computed key defines an own property even for `__proto__`.
      const set = `Object.assign(${fields}, { [${JSON.stringify(field.name)}]: ${inner} });`;
      g.emit(
        field.name === '__proto__' ? `${g.h.bail}();` : field.optional ? `if (${inner} !== undefined) ${set}` : set,
      );
    }
    g.charge(STRUCT_CREATE);
    const made = g.held(`${g.constant(plan.construct)}(${fields})`);
    g.failIf(`${made} instanceof ${g.h.NonValue}`, target, `${g.h.at}(${made}, ${g.literal(plan.node.offset)})`);
    return made;
  }

  #append(plan: Plan & { op: 'append' }, target: Target): string {
    const g = this.#g;
    const accumulator = localName(plan.accumulator.local.slot);
    // The accumulator is read first and charged, then the addition is computed even if the accumulator has failed.
    const first = surcharge(target, ['2']);
    const { addition } = plan;
    const single = addition.op === 'list' && addition.elements.length === 1 && addition.elements[0]?.optional === false;
    const failing: Target = {
      fail: (error, costs) =>
        first.fail(`${accumulator} instanceof ${g.h.NonValue} ? ${accumulator} : ${error}`, costs),
    };
    const added = single
      ? this.value((addition as ListPlan).elements[0]?.plan as Plan, surcharge(failing, [String(LIST_CREATE)]))
      : this.value(addition, failing);
    g.charge(2 + (single ? LIST_CREATE : 0));
    g.failIf(`${accumulator} instanceof ${g.h.NonValue}`, target, accumulator);
    g.emit(single ? `${accumulator}.push(${added});` : `for (const each of ${added}) ${accumulator}.push(each);`);
    return accumulator;
  }

  #insert(plan: Plan & { op: 'insert' }, target: Target): string {
    const g = this.#g;
    const accumulator = localName(plan.accumulator.local.slot);
    g.charge(1);
    const one = plan.args.length === 1;
    // With three arguments, none is computed after a failed one; with two, both are computed.
    if (!one) g.failIf(`${accumulator} instanceof ${g.h.NonValue}`, target, accumulator);
    const values = plan.args.map((each, index) => {
      const last = index === plan.args.length - 1;
      const failing: Target = one
        ? {
            fail: (error, costs) =>
              target.fail(`${accumulator} instanceof ${g.h.NonValue} ? ${accumulator} : ${error}`, [...costs, '1']),
          }
        : surcharge(target, last ? ['1'] : []);
      return this.value(each, failing);
    });
    g.charge(1);
    if (one) g.failIf(`${accumulator} instanceof ${g.h.NonValue}`, target, accumulator);
    const failed = g.held(`${accumulator}.${one ? 'merge' : 'insert'}(${values.join(', ')})`);
    g.failIf(`${failed} !== undefined`, target, `${g.h.at}(${failed}, ${g.literal(plan.node.offset)})`);
    return accumulator;
  }

  #bind(plan: Plan & { op: 'bind' }, target: Target): string {
    const g = this.#g;
    const name = localName(plan.local.slot);
    const inner: Target = { fail: (error, costs) => `${g.owed(costs)}return ${error};` };
    g.emit(`let ${name} = ${g.h.UNSET};`);
    g.emit(`const ${name}f = () => {`);
    g.apart(() => {
      const value = this.value(plan.local.lazy as Plan, inner);
      g.flush();
      g.emit(`return ${value};`);
    });
    g.emit('};');
    return this.value(plan.body, target);
  }
}

const mayBeOptional = (type: Type): boolean => type.kind === 'dyn' || type.kind === 'error' || isOptional(type);

/** Returns the terms of nested && or ||: the tree is balanced to limit its depth, and only the order matters. */
function flatten(plan: LogicPlan): readonly Plan[] {
  return plan.terms.flatMap((each) => (each.op === plan.op ? flatten(each) : [each]));
}
