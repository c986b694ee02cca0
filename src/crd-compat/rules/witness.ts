/**
 * Searches for a value that was accepted and that a new rule refuses, among values around the literals of the rules.
 */
import { applyDefaults, prune, type Validator, validator, without } from '../instance/index.ts';
import type { CrdSchema } from '../schema.ts';
import { candidates, type Draw } from './candidates.ts';
import { choices } from './choices.ts';
import type { CompiledRule } from './compiled.ts';
import type { OldRules } from './implies.ts';
import { literalsOf } from './literals.ts';

export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * A search that can be paused: a counterexample is often found at once, and otherwise a proof may show that there is
 * none.
 */
export class WitnessSearch {
  readonly #rule: CompiledRule;
  readonly #premises: readonly CompiledRule[];
  readonly #old: OldRules;
  readonly #schema: CrdSchema;
  readonly #type: ObjectType;
  readonly #resource: boolean;
  readonly #draw: Draw;
  readonly #choices = choices();
  readonly #seen = new Set<string>();
  #validators: { readonly before: Validator; readonly after: Validator } | undefined;

  /** `premises` are the old rules that are not transition rules. */
  constructor(
    rule: CompiledRule,
    premises: readonly CompiledRule[],
    old: OldRules,
    schema: CrdSchema,
    type: ObjectType,
  ) {
    this.#rule = rule;
    this.#premises = premises;
    this.#old = old;
    this.#schema = schema;
    this.#type = type;
    this.#resource = [rule, ...premises].some((each) => each.resource);
    this.#draw = candidates(old.schema, schema, literalsOf([rule, ...premises]));
  }

  /** Tries the next `tries` values; by default all of them. */
  look(tries = Number.POSITIVE_INFINITY): { readonly value: unknown } | undefined {
    for (let turn = 0; turn < tries; turn++) {
      const { value: choose } = this.#choices.next();
      if (choose === undefined) return undefined;
      const drawn = this.#draw(choose);
      if (drawn === undefined) continue;
      const text = JSON.stringify(drawn);
      if (this.#seen.has(text)) continue;
      this.#seen.add(text);
      const value = this.#resource ? named(drawn, this.#type) : drawn;
      if (this.#shows(value)) return { value };
    }
    return undefined;
  }

  /** The rules are evaluated first, because they read little of a large schema. */
  #shows(value: unknown): boolean {
    const now = applyDefaults(prune(value, this.#schema, { resource: this.#resource }).value, this.#schema);
    if (this.#rule.holds(now)) return false;
    const before = applyDefaults(value, this.#old.schema);
    if (!this.#premises.every((each) => each.holds(before))) return false;
    this.#validators ??= this.#makeValidators();
    return this.#validators.before.validate(before).length === 0 && this.#validators.after.validate(now).length === 0;
  }

  #makeValidators(): { readonly before: Validator; readonly after: Validator } {
    const resource = this.#resource;
    const others = this.#old.rules.filter((rule) => !this.#premises.some((each) => each.rule === rule));
    return {
      before: validator({ ...this.#old.schema, 'x-kubernetes-validations': others }, { resource }),
      // If the new schema or another new rule refuses the value, it says nothing about this rule.
      after: validator(without(this.#schema, 'x-kubernetes-validations'), { resource }),
    };
  }
}

/** Adds the type and the name of a whole resource. */
export function named(value: unknown, { apiVersion, kind }: ObjectType): unknown {
  const { metadata, ...rest } = value as Readonly<Record<string, unknown>>;
  const known = typeof metadata === 'object' ? metadata : {};
  return { apiVersion, kind, metadata: { name: 'example', ...known }, ...rest };
}
