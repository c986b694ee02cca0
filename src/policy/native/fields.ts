/** Reads objects of any shape: invalid fields become issues with their path, never exceptions. */
import type { PolicyIssue } from '../model.ts';
import type { Json } from '../request.ts';
import type { LabelSelector } from '../world.ts';

export class Fields {
  readonly #object: Json;
  readonly #path: string;
  readonly #policy: string;
  readonly #issues: PolicyIssue[];

  constructor(object: Json, path: string, policy: string, issues: PolicyIssue[]) {
    this.#object = object;
    this.#path = path;
    this.#policy = policy;
    this.#issues = issues;
  }

  pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  text(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'string') return value;
    return this.wrong(name, 'must be a string');
  }

  /** `words` returns a required string. */
  words(name: string): string {
    if (!this.has(name)) this.wrong(name, 'is required');
    return this.text(name) ?? '';
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined || text === '') return undefined;
    if (choices.includes(text as T)) return text as T;
    return this.wrong(name, `must be one of ${choices.join(', ')}, got ${text}`);
  }

  texts(name: string): readonly string[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value as readonly string[];
    this.wrong(name, 'must be a list of strings');
    return [];
  }

  object(name: string): Fields | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (isObject(value)) return new Fields(value, this.pathOf(name), this.#policy, this.#issues);
    return this.wrong(name, 'must be an object');
  }

  objects(name: string): readonly Fields[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every(isObject)) {
      return value.map((each, index) => {
        return new Fields(each, `${this.pathOf(name)}[${index}]`, this.#policy, this.#issues);
      });
    }
    this.wrong(name, 'must be a list of objects');
    return [];
  }

  /** Returns a label selector, even one that selects everything: the caller decides how to treat it. */
  selector(name: string): LabelSelector | undefined {
    const fields = this.object(name);
    if (fields === undefined) return undefined;
    const labels = fields.#value('matchLabels') ?? {};
    if (!isObject(labels) || Object.values(labels).some((each) => typeof each !== 'string')) {
      return fields.wrong('matchLabels', 'must map label keys to string values');
    }
    const expressions = fields.objects('matchExpressions').map((each) => ({
      key: each.words('key'),
      operator: each.choice('operator', ['In', 'NotIn', 'Exists', 'DoesNotExist']) ?? 'In',
      values: each.texts('values'),
    }));
    return {
      ...(Object.keys(labels).length > 0 ? { matchLabels: labels as Record<string, string> } : {}),
      ...(expressions.length > 0 ? { matchExpressions: expressions } : {}),
    };
  }

  wrong(name: string, message: string): undefined {
    const path = name === '' ? this.#path : this.pathOf(name);
    this.#issues.push({
      severity: 'error',
      code: 'invalid_field',
      policy: this.#policy,
      path,
      message: `${path} ${message}`,
    });
    return undefined;
  }

  /** A null field counts as absent. */
  #value(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? (this.#object[name] ?? undefined) : undefined;
  }
}

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
