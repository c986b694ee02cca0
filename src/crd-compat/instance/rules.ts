/** Where the CEL rules of a schema are run: at which parts of a value, with which part of the old one, and what excuses them. */
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type Correlation, OldElements } from './correlation.ts';
import { isObject, type JsonObject } from './json.ts';
import { CompiledRules, OBJECT_COST_LIMIT, type RuleSession } from './rule.ts';
import type { Runs } from './rule-program.ts';
import type { Run } from './run.ts';

export interface Rules {
  check(value: unknown, old: unknown, run: Run, correlation: () => Correlation | undefined): void;
}

/** undefined where there are none. Inside allOf, anyOf, oneOf and not there can be none: such a schema is not structural. */
export function rulesOf(schema: CrdSchema, resource: boolean, runs: Runs): Rules | undefined {
  if (!hasRules(schema)) return undefined;
  const root = new RuleNode(schema, resource, runs);
  return {
    check(value, old, run, correlation) {
      root.check(value, old, new Session(run, correlation));
    },
  };
}

function hasRules(schema: CrdSchema): boolean {
  if ((schema['x-kubernetes-validations']?.length ?? 0) > 0) return true;
  const { items, additionalProperties, properties = {} } = schema;
  const inner = [items, additionalProperties, ...Object.values(properties)];
  return inner.some((each) => typeof each === 'object' && hasRules(each));
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

  /** What is unchanged here, or else the nearest thing around it that has a counterpart, is excused. Rules rarely fail: it is found out only then. */
  isExcused(): boolean {
    let current = this.#correlation();
    let around: Correlation | undefined;
    for (const [depth, step] of this.run.path.entries()) {
      if (current === undefined) break;
      // The type of the root is converted on both sides: that it is the same says nothing.
      if (depth === 0 && (step === 'apiVersion' || step === 'kind')) return false;
      around = current;
      current = typeof step === 'number' ? current.index(step) : current.key(step);
    }
    return (current ?? around)?.unchanged === true;
  }
}

/** The rules at one place of the schema, and where further ones are. */
class RuleNode {
  readonly #rules: readonly ValidationRule[];
  readonly #schema: CrdSchema;
  readonly #resource: boolean;
  readonly #runs: Runs;
  readonly #items: RuleNode | undefined;
  readonly #entries: RuleNode | undefined;
  readonly #properties = new Map<string, RuleNode>();
  /** Whether any rule here or below may compare with the old value. */
  readonly #looksBack: boolean;
  #compiled: CompiledRules | undefined;

  constructor(schema: CrdSchema, resource: boolean, runs: Runs) {
    const { items, additionalProperties, properties = {} } = schema;
    this.#rules = schema['x-kubernetes-validations'] ?? [];
    this.#schema = schema;
    this.#resource = resource;
    this.#runs = runs;
    this.#items = nodeOf(items, runs);
    this.#entries = typeof additionalProperties === 'object' ? nodeOf(additionalProperties, runs) : undefined;
    for (const [name, property] of Object.entries(properties)) {
      const node = nodeOf(property, runs);
      if (node !== undefined) this.#properties.set(name, node);
    }
    this.#looksBack =
      this.#rules.some(({ rule }) => rule.includes('oldSelf')) || this.#below.some((node) => node.#looksBack);
  }

  get #below(): readonly RuleNode[] {
    const inner = [this.#items, this.#entries].filter((node) => node !== undefined);
    return [...inner, ...this.#properties.values()];
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0 && this.#below.length === 0;
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
    const node = this.#items;
    if (node === undefined) return;
    const before = Array.isArray(old) ? new OldElements(this.#schema, old) : undefined;
    for (let index = 0; index < value.length; index++) {
      session.run.enter(index);
      node.check(value[index], before?.find(value[index]), session);
      session.run.leave();
    }
  }

  #checkObject(value: JsonObject, old: unknown, session: Session): void {
    for (const [name, node] of this.#properties) {
      if (Object.hasOwn(value, name)) checkProperty(name, node, value, old, session);
    }
    if (this.#entries === undefined) return;
    for (const key of Object.keys(value)) checkProperty(key, this.#entries, value, old, session);
  }
}

function checkProperty(name: string, node: RuleNode, value: JsonObject, old: unknown, session: Session): void {
  const before = isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined;
  session.run.enter(name);
  node.check(value[name], before, session);
  session.run.leave();
}

/** undefined where there are no rules below. */
function nodeOf(schema: CrdSchema | undefined, runs: Runs): RuleNode | undefined {
  if (schema === undefined) return undefined;
  const node = new RuleNode(schema, schema['x-kubernetes-embedded-resource'] === true, runs);
  return node.isEmpty ? undefined : node;
}
