/** Notes on the fields that a conversion could not carry over. */
import type { Json } from '../request.ts';

export interface ConversionNote {
  /** A `warning` was converted in part; an `error` was not converted. */
  readonly severity: 'warning' | 'error';
  /** The source object, such as `ValidatingAdmissionPolicy/replicas`. */
  readonly source: string;
  /** The field of the source, such as `spec.rules[0].ratchet`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

export class Notes {
  readonly all: ConversionNote[] = [];

  /** `of` returns the notes of one object. */
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

  /** `lost` notes a field that is lost in the conversion. */
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

/** `objectsIn` returns the objects of a list field of any shape. */
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

/** `compact` removes undefined fields, empty lists and empty objects from a manifest. */
export function compact<T extends Json>(object: T): T {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => {
      if (value === undefined || value === null) return false;
      return typeof value !== 'object' || Object.keys(value).length > 0;
    }),
  ) as T;
}
