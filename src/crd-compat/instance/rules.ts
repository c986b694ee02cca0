/**
 * Runs the CEL rules of a schema: on which parts of a value, with which part of the old one, and with which exemptions.
 */
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type Correlation, OldElements } from './correlation.ts';
import { isObject, type JsonObject } from './json.ts';
import { CompiledRules, OBJECT_COST_LIMIT, type RuleSession } from './rule.ts';
import type { Runs } from './rule-program.ts';
import type { Run } from './run.ts';
import { traitsOf } from './traits.ts';

interface Rules {
  check(value: unknown, old: unknown, run: Run, correlation: () => Correlation | undefined): void;
}

/**
 * Returns undefined if there are no rules. Inside allOf, anyOf, oneOf and not there are none, because such a schema is
 * not structural.
 */
export function rulesOf(schema: CrdSchema, resource: boolean, runs: Runs): Rules | undefined {
  const root = traitsOf(schema).rules ? nodeOf(schema, resource, runs) : undefined;
  if (root === undefined) return undefined;
  return {
    check(value, old, run, correlation) {
      root.check(value, old, new Session(run, correlation));
    },
  };
}

class Session implements RuleSession {
  readonly run: Run;
  readonly budget = { limit: OBJECT_COST_LIMIT, spent: 0 };
  over = false;
  readonly #correlation: () => Correlation | undefined;

  constructor(run: Run, correlation: () => Correlation | undefined) {
    this.run = run;
    this.#correlation = correlation;
  }

  /**
   * Whether the value, or the nearest surrounding value with an old counterpart, is unchanged. This is computed only if
   * a rule fails, which is rare.
   */
  isExcused(): boolean {
    let current = this.#correlation();
    let around: Correlation | undefined;
    for (const [depth, step] of this.run.path.entries()) {
      if (current === undefined) break;
      // The type of the root is converted on both sides, so that equality says nothing.
      if (depth === 0 && (step === 'apiVersion' || step === 'kind')) return false;
      around = current;
      current = typeof step === 'number' ? current.index(step) : current.key(step);
    }
    return (current ?? around)?.unchanged === true;
  }
}

/** The nested rules: in the elements of a list, the values of a map, the fields of an object. */
interface Below {
  readonly items: RuleNode | undefined;
  readonly entries: RuleNode | undefined;
  readonly properties: readonly { readonly name: string; readonly node: RuleNode }[];
}

/** The rules at one place of the schema, and the nested ones. */
class RuleNode {
  readonly #rules: readonly ValidationRule[];
  readonly #schema: CrdSchema;
  readonly #resource: boolean;
  readonly #runs: Runs;
  readonly #below: Below;
  /** Whether a rule here or below can read the old value. */
  readonly #looksBack: boolean;
  #compiled: CompiledRules | undefined;

  constructor(schema: CrdSchema, resource: boolean, runs: Runs, below: Below) {
    this.#rules = schema['x-kubernetes-validations'] ?? [];
    this.#schema = schema;
    this.#resource = resource;
    this.#runs = runs;
    this.#below = below;
    const inside = [below.items, below.entries, ...below.properties.map(({ node }) => node)];
    this.#looksBack =
      this.#rules.some(({ rule }) => rule.includes('oldSelf')) ||
      inside.some((node) => (node === undefined ? false : node.#looksBack));
  }

  check(value: unknown, old: unknown, session: Session): void {
    if (value === null || value === undefined || session.over) return;
    const before = this.#looksBack ? old : undefined;
    if (this.#rules.length > 0) {
      this.#compiled ??= new CompiledRules(this.#rules, this.#schema, this.#resource, this.#runs);
      this.#compiled.check(value, before, session);
    }
    if (Array.isArray(value)) this.#checkList(value, before, session);
    else if (isObject(value)) this.#checkObject(value, before, session);
  }

  #checkList(value: readonly unknown[], old: unknown, session: Session): void {
    const node = this.#below.items;
    if (node === undefined) return;
    const before = Array.isArray(old) ? new OldElements(this.#schema, old) : undefined;
    for (let index = 0; index < value.length; index++) {
      session.run.enter(index);
      node.check(value[index], before?.find(value[index]), session);
      session.run.leave();
    }
  }

  #checkObject(value: JsonObject, old: unknown, session: Session): void {
    const { properties, entries } = this.#below;
    for (const { name, node } of properties) {
      if (Object.hasOwn(value, name)) checkProperty(name, node, value, old, session);
    }
    if (entries === undefined) return;
    for (const key of Object.keys(value)) checkProperty(key, entries, value, old, session);
  }
}

function checkProperty(name: string, node: RuleNode, value: JsonObject, old: unknown, session: Session): void {
  const before = isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined;
  session.run.enter(name);
  node.check(value[name], before, session);
  session.run.leave();
}

/** Returns undefined if there are no rules here or below, which is true nearly everywhere in a large schema. */
function nodeOf(schema: CrdSchema, resource: boolean, runs: Runs): RuleNode | undefined {
  const { items, additionalProperties, properties } = schema;
  const inside = (each: CrdSchema): RuleNode | undefined =>
    nodeOf(each, each['x-kubernetes-embedded-resource'] === true, runs);
  const below = {
    items: items === undefined ? undefined : inside(items),
    entries: typeof additionalProperties === 'object' ? inside(additionalProperties) : undefined,
  };
  let named: { name: string; node: RuleNode }[] | undefined;
  for (const name in properties) {
    const node = inside(properties[name] as CrdSchema);
    if (node === undefined) continue;
    named ??= [];
    named.push({ name, node });
  }
  const isEmpty = below.items === undefined && below.entries === undefined && named === undefined;
  if (isEmpty && (schema['x-kubernetes-validations'] ?? []).length === 0) return undefined;
  return new RuleNode(schema, resource, runs, { ...below, properties: named ?? [] });
}
