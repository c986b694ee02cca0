/**
 * Parses rendered manifests by the YAML rules of Helm and Kubernetes: between YAML 1.1 and 1.2, where `yes` is true and
 * `0644` is 420, but a date stays text. Any other parsing would install different objects.
 */
import type { Document, ScalarTag, Tags } from 'yaml';
import type { UnknownObject } from '../../runtime/index.ts';
import { faultIn, parseDocuments, TooDeep } from '../../runtime/internal.ts';

/** An error that names the document and never quotes it. */
export class ManifestError extends Error {
  /** The template, such as `chart/templates/a.yaml`, if Helm names it. */
  readonly source: string | undefined;

  constructor(why: string, source: string | undefined) {
    super(why);
    this.name = 'ManifestError';
    this.source = source;
  }
}

/** `objectsIn` returns the objects in order. It yields between documents, because large ones take time. */
export async function objectsIn(text: string): Promise<UnknownObject[]> {
  const objects: UnknownObject[] = [];
  for (const document of text.split(/^---[ \t]*(?:#.*)?$/m)) {
    const source = /^# Source: (.+)$/m.exec(document)?.[1]?.trim();
    const value = readDocument(document, source);
    if (value !== null && value !== undefined) take(value, source, objects);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return objects;
}

function take(value: unknown, source: string | undefined, into: UnknownObject[]): void {
  const object = value as UnknownObject;
  const isObject = typeof object === 'object' && object !== null && !Array.isArray(object);
  if (!isObject || typeof object.apiVersion !== 'string' || typeof object.kind !== 'string') {
    throw new ManifestError('not a Kubernetes object: apiVersion and kind are required', source);
  }
  if (object.kind.endsWith('List') && Array.isArray(object.items)) {
    for (const item of object.items as unknown[]) take(item, source, into);
    return;
  }
  if (typeof object.metadata?.name !== 'string' || object.metadata.name === '') {
    throw new ManifestError(`${object.kind} has no metadata.name`, source);
  }
  into.push(object);
}

function readDocument(text: string, source: string | undefined): unknown {
  if (text.trim() === '') return null;
  const invalid = (code: string) => new ManifestError(`invalid YAML (${code})`, source);
  let document: Document | undefined;
  try {
    const documents = parseDocuments(text, {
      version: '1.1',
      schema: 'yaml-1.1',
      merge: true,
      strict: false,
      uniqueKeys: false,
      customTags: asKubernetes,
    });
    if (documents.length > 1) throw invalid('MULTIPLE_DOCS');
    [document] = documents;
  } catch (error) {
    throw error instanceof TooDeep ? invalid('TOO_DEEP') : error;
  }
  if (document === undefined) return null;
  const [error] = document.errors;
  const wrong = error?.code ?? faultIn(document, { mayRepeatKeys: true })?.kind;
  if (wrong !== undefined) throw invalid(wrong);
  const value = contentOf(document, invalid);
  assertJson(value, source);
  // Normalized to JSON: without -0, and without shared references.
  return JSON.parse(JSON.stringify(value)) as unknown;
}

/** Aliases are resolved here: one that leads nowhere, or far too many of them, is the fault of the document. */
function contentOf(document: Document, invalid: (code: string) => ManifestError): unknown {
  try {
    return document.toJS({ maxAliasCount: 1000 });
  } catch {
    throw invalid('BAD_ALIAS');
  }
}

const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0o[0-7_]+$/,
  resolve: (text) => {
    const digits = text.replaceAll('_', '').replace('0o', '');
    return Number.parseInt(digits, 8);
  },
};

/** Dates, times and binary data stay text. */
const asKubernetes = (tags: Tags): Tags => [
  ...tags.filter((each) => {
    if (typeof each === 'string') return true;
    const isTime = 'format' in each && each.format === 'TIME';
    return !isTime && !/:(?:timestamp|binary|omap|pairs|set)$/.test(each.tag);
  }),
  octal,
];

/** Numbers that JSON cannot represent exactly are rejected. */
function assertJson(value: unknown, source: string | undefined): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
      throw new ManifestError('it contains a number that cannot be represented exactly', source);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) assertJson(each, source);
  }
}
