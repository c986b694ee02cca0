/** Where the CEL rules of a schema are run: at which parts of a value, with which part of the old one, and what excuses them. */
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type Correlation, OldElements } from './correlation.ts';
import { isObject, type JsonObject } from './json.ts';
import { CompiledRules, OBJECT_COST_LIMIT, type RuleSession } from './rule.ts';
import type { Run } from './run.ts';

export interface Rules {
  check(value: unknown, old: unknown, run: Run, correlation: () => Correlation | undefined): void;
}

/** undefined where there are none. Rules that are only inside allOf are never run: the API server does not look for them there. */
export function rulesOf(schema: CrdSchema, resource: boolean): Rules | undefined {
  if (!hasRules(schema)) return undefined;
  const root = new RuleNode(schema, schema, resource);
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
  /** How deep in the value the rules of an allOf were entered: from there on nothing is followed to what was before. */
  blindFrom = Number.POSITIVE_INFINITY;
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
      if (current === undefined || depth >= this.blindFrom) break;
      // The type of the root is converted on both sides: that it is the same says nothing.
      if (depth === 0 && (step === 'apiVersion' || step === 'kind')) return false;
      around = current;
      current = typeof step === 'number' ? current.index(step) : current.key(step);
    }
    const blind = this.run.path.length >= this.blindFrom;
    return ((blind ? undefined : current) ?? around)?.unchanged === true;
  }
}

/** The rules at one place of the schema, and where further ones are. */
class RuleNode {
  readonly #rules: readonly ValidationRule[];
  readonly #schema: CrdSchema;
  readonly #resource: boolean;
  readonly #items: RuleNode | undefined;
  readonly #entries: RuleNode | undefined;
  readonly #properties = new Map<string, RuleNode>();
  readonly #allOf: readonly RuleNode[];
  /** Whether any rule here or below may compare with the old value. */
  readonly #looksBack: boolean;
  #compiled: CompiledRules | undefined;

  /** `validations` is the schema itself or one of its allOf; `schema` always the schema, which says what types there are. */
  constructor(validations: CrdSchema, schema: CrdSchema, resource: boolean) {
    this.#rules = validations['x-kubernetes-validations'] ?? [];
    this.#schema = schema;
    this.#resource = resource;
    this.#items = nodeOf(validations.items, schema.items);
    this.#entries = nodeOf(schemaOf(validations.additionalProperties), schemaOf(schema.additionalProperties));
    for (const [name, property] of Object.entries(validations.properties ?? {})) {
      const known = schema.properties !== undefined && Object.hasOwn(schema.properties, name);
      const node = nodeOf(property, known ? schema.properties[name] : undefined);
      if (node !== undefined) this.#properties.set(name, node);
    }
    this.#allOf = (validations.allOf ?? [])
      .map((each) => new RuleNode(each, schema, resource))
      .filter((node) => !node.isEmpty);
    this.#looksBack =
      this.#rules.some(({ rule }) => rule.includes('oldSelf')) || this.#below.some((node) => node.#looksBack);
  }

  get #below(): readonly RuleNode[] {
    const inner = [this.#items, this.#entries].filter((node) => node !== undefined);
    return [...inner, ...this.#properties.values(), ...this.#allOf];
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0 && this.#below.length === 0;
  }

  check(value: unknown, old: unknown, session: Session): void {
    if (value === null || value === undefined || session.over) return;
    const before = this.#looksBack ? old : undefined;
    if (this.#rules.length > 0) {
      this.#compiled ??= new CompiledRules(this.#rules, this.#schema, this.#resource);
      this.#compiled.check(value, before, session);
    }
    if (this.#allOf.length > 0) this.#checkAllOf(value, before, session);
    if (Array.isArray(value)) this.#checkList(value, before, session);
    else if (isObject(value)) this.#checkObject(value, before, session);
  }

  #checkAllOf(value: unknown, old: unknown, session: Session): void {
    const { blindFrom } = session;
    session.blindFrom = Math.min(blindFrom, session.run.path.length);
    for (const node of this.#allOf) node.check(value, old, session);
    session.blindFrom = blindFrom;
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

const schemaOf = (schema: boolean | CrdSchema | undefined): CrdSchema | undefined =>
  typeof schema === 'object' ? schema : undefined;

function nodeOf(validations: CrdSchema | undefined, schema: CrdSchema | undefined): RuleNode | undefined {
  if (validations === undefined || schema === undefined) return undefined;
  const node = new RuleNode(validations, schema, schema['x-kubernetes-embedded-resource'] === true);
  return node.isEmpty ? undefined : node;
}
