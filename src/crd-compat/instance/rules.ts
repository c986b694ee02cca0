/** The CEL rules of a schema: compiled when a value first meets them, run where the API server would run them, at the same cost. */
import {
  type Budget,
  CelError,
  type Compiled,
  compile,
  environment,
  NonValue,
  Optional,
  type Result,
  type SchemaTypes,
  trust,
  types,
  typesFromSchema,
  type Value,
  type Variables,
  valueBySchema,
} from '../../cel/index.ts';
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type Correlation, OldElements } from './correlation.ts';
import { isObject } from './json.ts';
import type { Run } from './run.ts';

/** All the rules of one object together. */
const OBJECT_COST_LIMIT = 10_000_000;

export interface Rules {
  check(value: unknown, old: unknown, run: Run, correlation: Correlation | undefined): void;
}

/** undefined where there are none. Rules that are only inside allOf are never run: the API server does not look for them there. */
export function rulesOf(schema: CrdSchema, resource: boolean): Rules | undefined {
  if (!hasRules(schema)) return undefined;
  const root = new RuleNode(schema, schema, resource);
  return {
    check(value, old, run, correlation) {
      const session: Session = { run, budget: { limit: OBJECT_COST_LIMIT, spent: 0 }, over: false };
      root.check(value, old, session, { current: correlation, parent: undefined });
    },
  };
}

function hasRules(schema: CrdSchema): boolean {
  if ((schema['x-kubernetes-validations']?.length ?? 0) > 0) return true;
  const { items, additionalProperties, properties = {} } = schema;
  const inner = [items, additionalProperties, ...Object.values(properties)];
  return inner.some((each) => typeof each === 'object' && hasRules(each));
}

interface Session {
  readonly run: Run;
  readonly budget: Budget;
  /** The budget is used up: no further rule is run. */
  over: boolean;
}

/** What an unchanged value may excuse: itself, or else the nearest thing around it that has a counterpart. */
interface Ratchet {
  readonly current: Correlation | undefined;
  readonly parent: Correlation | undefined;
}

const excuses = ({ current, parent }: Ratchet): boolean => (current ?? parent)?.unchanged === true;

function below(ratchet: Ratchet, step: string | number, atRoot: boolean): Ratchet {
  const { current } = ratchet;
  if (current === undefined) return ratchet;
  if (typeof step === 'number') return { current: current.index(step), parent: current };
  // The type of the root is converted on both sides: that it is the same says nothing.
  if (atRoot && (step === 'apiVersion' || step === 'kind')) return { current: undefined, parent: undefined };
  return { current: current.key(step), parent: current };
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
  }

  get isEmpty(): boolean {
    return (
      this.#rules.length === 0 &&
      this.#items === undefined &&
      this.#entries === undefined &&
      this.#properties.size === 0 &&
      this.#allOf.length === 0
    );
  }

  check(value: unknown, old: unknown, session: Session, ratchet: Ratchet): void {
    if (value === null || value === undefined || session.over) return;
    if (this.#rules.length > 0) {
      this.#compiled ??= new CompiledRules(this.#rules, this.#schema, this.#resource);
      this.#compiled.check(value, old, session, ratchet);
    }
    for (const node of this.#allOf) node.check(value, old, session, { current: undefined, parent: ratchet.parent });
    if (Array.isArray(value)) this.#checkList(value, old, session, ratchet);
    else if (isObject(value)) this.#checkObject(value, old, session, ratchet);
  }

  #checkList(value: readonly unknown[], old: unknown, session: Session, ratchet: Ratchet): void {
    if (this.#items === undefined) return;
    const before = Array.isArray(old) ? new OldElements(this.#schema, old) : undefined;
    for (const [index, element] of value.entries()) {
      session.run.enter(index);
      this.#items.check(element, before?.find(element), session, below(ratchet, index, false));
      session.run.leave();
    }
  }

  #checkObject(value: Readonly<Record<string, unknown>>, old: unknown, session: Session, ratchet: Ratchet): void {
    if (this.#entries === undefined && this.#properties.size === 0) return;
    const atRoot = session.run.atRoot;
    for (const key of Object.keys(value)) {
      const nodes = [this.#entries, this.#properties.get(key)];
      for (const node of nodes) {
        if (node === undefined) continue;
        const before = isObject(old) && Object.hasOwn(old, key) ? old[key] : undefined;
        session.run.enter(key);
        node.check(value[key], before, session, below(ratchet, key, atRoot));
        session.run.leave();
      }
    }
  }
}

const schemaOf = (schema: boolean | CrdSchema | undefined): CrdSchema | undefined =>
  typeof schema === 'object' ? schema : undefined;

function nodeOf(validations: CrdSchema | undefined, schema: CrdSchema | undefined): RuleNode | undefined {
  if (validations === undefined || schema === undefined) return undefined;
  const node = new RuleNode(validations, schema, schema['x-kubernetes-embedded-resource'] === true);
  return node.isEmpty ? undefined : node;
}

interface CompiledRule {
  readonly rule: ValidationRule;
  /** Why it cannot be run. */
  readonly broken?: string;
  readonly program?: Compiled;
  readonly usesOldSelf: boolean;
  readonly optionalOldSelf: boolean;
  readonly message: () => Compiled | undefined;
}

class CompiledRules {
  readonly #types: SchemaTypes;
  readonly #rules: readonly CompiledRule[];
  readonly #usesOldSelf: boolean;

  constructor(rules: readonly ValidationRule[], schema: CrdSchema, resource: boolean) {
    this.#types = typesFromSchema(spineOf(schema), { name: 'self', resource, unknownFields: 'hidden' });
    this.#rules = rules.filter(({ rule }) => rule.trim() !== '').map((rule) => compileRule(rule, this.#types));
    this.#usesOldSelf = this.#rules.some(({ usesOldSelf }) => usesOldSelf);
  }

  check(value: unknown, old: unknown, session: Session, ratchet: Ratchet): void {
    const self = this.#see(value);
    const before = this.#usesOldSelf && old !== undefined && old !== null ? this.#see(old) : undefined;
    const variables = trust(before === undefined ? { self } : { self, oldSelf: before });
    const optional = trust({ self, oldSelf: before instanceof NonValue ? before : new Optional(before) });
    for (const rule of this.#rules) {
      if (rule.usesOldSelf && before === undefined && !rule.optionalOldSelf) continue;
      checkRule(rule, rule.optionalOldSelf ? optional : variables, session, ratchet);
      if (session.over) return;
    }
  }

  #see(value: unknown): Result {
    return valueBySchema(value as Value, this.#types);
  }
}

const KEYWORD = 'x-kubernetes-validations';

function checkRule(compiled: CompiledRule, variables: Variables, session: Session, ratchet: Ratchet): void {
  const { rule, program, broken } = compiled;
  const { run, budget } = session;
  if (program === undefined) {
    run.fault(KEYWORD, `the rule ${rule.rule} cannot be compiled: ${broken ?? 'it is empty'}`, rule.rule);
    return;
  }
  const result = program.evaluate(variables, budget);
  if (result === true) return;
  if (result instanceof CelError) {
    if (result.code === 'cost_exceeded') session.over = true;
    run.fault(KEYWORD, `${result.message} evaluating rule: ${textOf(rule)}`, rule.rule);
    return;
  }
  // Rules that compare with what was before are about the change, so that no change excuses them.
  if (!compiled.usesOldSelf && excuses(ratchet)) return;
  const message = messageOf(compiled, variables, session);
  const at = (rule.fieldPath ?? '').replace(/^\./, '');
  if (at !== '' && /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/.test(at)) {
    for (const step of at.split('.')) run.enter(step);
    run.fault(KEYWORD, message, rule.rule);
    for (const _ of at.split('.')) run.leave();
  } else run.fault(KEYWORD, message, rule.rule);
}

const textOf = ({ rule, message }: ValidationRule): string => ((message ?? '') === '' ? rule : (message ?? '')).trim();

const MAX_MESSAGE = 5 * 1024;

function messageOf(compiled: CompiledRule, variables: Variables, session: Session): string {
  const { rule } = compiled;
  const otherwise = (rule.message ?? '') === '' ? `failed rule: ${rule.rule.trim()}` : (rule.message ?? '').trim();
  const result = compiled.message()?.evaluate(variables, session.budget);
  if (result instanceof CelError && result.code === 'cost_exceeded') session.over = true;
  if (typeof result !== 'string') return otherwise;
  const text = result.trim();
  return text === '' || text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE ? otherwise : text;
}

function compileRule(rule: ValidationRule, made: SchemaTypes): CompiledRule {
  const optionalOldSelf = rule.optionalOldSelf === true;
  const env = environment('kubernetes-1.36', {
    variables: { self: made.type, oldSelf: optionalOldSelf ? types.optional(made.type) : made.type },
    types: [made.provider],
  });
  const program = compile(rule.rule, env);
  const message = lazy(() => {
    if ((rule.messageExpression ?? '') === '') return undefined;
    const found = compile(rule.messageExpression ?? '', env);
    return found.evaluate === undefined ? undefined : found;
  });
  const common = { rule, optionalOldSelf, message };
  if (program.evaluate === undefined) return { ...common, broken: program.message, usesOldSelf: false };
  if (program.type.kind !== 'bool') return { ...common, broken: 'it is no bool', usesOldSelf: false };
  return { ...common, program, usesOldSelf: program.program.variables.includes('oldSelf') };
}

function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The schema without its allOf, which say nothing about types. */
function spineOf(schema: CrdSchema): CrdSchema {
  const { allOf: _, items, properties, additionalProperties, ...rest } = schema;
  return {
    ...rest,
    ...(items === undefined ? {} : { items: spineOf(items) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object' ? spineOf(additionalProperties) : additionalProperties,
        }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, spineOf(each)])) }),
  };
}
