/** What a conversion could not carry over, said field by field. */
import type { Json } from '../request.ts';

export interface ConversionNote {
  /** `warning`: converted, but not all of it. `error`: not converted at all. */
  readonly severity: 'warning' | 'error';
  /** `ValidatingAdmissionPolicy/replicas`. */
  readonly source: string;
  /** The field of the source, such as `spec.rules[0].ratchet`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

export class Notes {
  readonly all: ConversionNote[] = [];

  /** Notes about one object. */
  of(object: Json): SourceNotes {
    return new SourceNotes(this.all, sourceOf(object));
  }
}

export class SourceNotes {
  readonly source: string;
  readonly #all: ConversionNote[];

  constructor(all: ConversionNote[], source: string) {
    this.#all = all;
    this.source = source;
  }

  /** Something of the source is lost. */
  lost(path: string, message: string): void {
    this.#all.push({ severity: 'warning', source: this.source, path, message });
  }

  refused(path: string, message: string): void {
    this.#all.push({ severity: 'error', source: this.source, path, message });
  }
}

function sourceOf(object: Json): string {
  const { metadata } = object as { metadata?: { name?: unknown } };
  return `${String(object.kind)}/${typeof metadata?.name === 'string' ? metadata.name : ''}`;
}

/** The objects of a list field, whatever stands there. */
export function objectsIn(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function objectIn(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without the fields that are undefined, empty lists or empty objects: they would only be noise in a manifest. */
export function compact<T extends Json>(object: T): T {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => {
      if (value === undefined || value === null) return false;
      return typeof value !== 'object' || Object.keys(value).length > 0;
    }),
  ) as T;
}
