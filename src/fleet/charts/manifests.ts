/**
 * From what Helm has rendered to objects, by the rules that Helm and Kubernetes read YAML by: between YAML 1.1 and 1.2, where `yes` is
 * true and `0644` is 420 but a date stays text. Another reading would install another object than Helm does.
 */
import { parseDocument, type ScalarTag, type Tags } from 'yaml';
import type { UnknownObject } from '../../runtime/index.ts';

/** Says which document it was, and never what stands in it. */
export class ManifestError extends Error {
  /** `chart/templates/a.yaml`, where Helm says so. */
  readonly source: string | undefined;

  constructor(why: string, source: string | undefined) {
    super(why);
    this.name = 'ManifestError';
    this.source = source;
  }
}

/** In their order. Lets others run between two documents: a large one takes its time. */
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
  const isObject = typeof object === 'object' && !Array.isArray(object);
  if (!isObject || typeof object.apiVersion !== 'string' || typeof object.kind !== 'string') {
    throw new ManifestError('it is no Kubernetes object: it wants apiVersion and kind', source);
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
  const document = parseDocument(text, {
    version: '1.1',
    schema: 'yaml-1.1',
    merge: true,
    strict: false,
    uniqueKeys: false,
    customTags: asKubernetes,
    logLevel: 'silent',
  });
  const [error] = document.errors;
  if (error !== undefined) throw new ManifestError(`it is no YAML (${error.code})`, source);
  const value: unknown = document.toJS({ maxAliasCount: 1000 });
  assertJson(value, source);
  // As it is kept: without -0, and with nothing that is in two places at once.
  return JSON.parse(JSON.stringify(value)) as unknown;
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

/** Dates, times of day and binary data stay the text that they are. */
const asKubernetes = (tags: Tags): Tags => [
  ...tags.filter((each) => {
    if (typeof each === 'string') return true;
    const isTime = 'format' in each && each.format === 'TIME';
    return !isTime && !/:(?:timestamp|binary|omap|pairs|set)$/.test(each.tag);
  }),
  octal,
];

/** Numbers that JSON cannot carry exactly would arrive as others. */
function assertJson(value: unknown, source: string | undefined): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
      throw new ManifestError('it has a number that cannot be kept exactly', source);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) assertJson(each, source);
  }
}
