/** Metadata of resources, at the root and embedded: what the API server keeps of it, and what it refuses. */
import {
  asPrefix,
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from '../../cel/index.ts';
import type { CrdSchema } from '../schema.ts';
import { isInt64, isObject, type JsonObject } from './json.ts';
import type { Run } from './run.ts';
import { type Visit, visitor } from './visitor.ts';

export interface Coerced {
  /** What is kept; the value itself where all of it is, or where it cannot be read at all. */
  readonly value: unknown;
  readonly unknown: readonly string[];
  /** A field whose value is not of its type: the request is refused before it is looked at further. */
  readonly malformed?: string;
}

/**
 * Metadata is read into the known fields and written again: the others are dropped, and so is what is empty. `lenient`, fields that
 * cannot be read are dropped as well, which is how what is in the store is read.
 */
export function coerceMetadata(metadata: unknown, lenient = false): Coerced {
  if (metadata === null) return { value: {}, unknown: [] };
  if (!isObject(metadata)) return { value: metadata, unknown: [], malformed: '' };
  const kept: Record<string, unknown> = {};
  const unknown: string[] = [];
  let same = true;
  for (const name of Object.keys(metadata)) {
    const read = FIELDS.get(name);
    if (read === undefined) unknown.push(name);
    const value = metadata[name] === null ? EMPTY : (read?.(metadata[name]) ?? EMPTY);
    if (value === MALFORMED && !lenient) return { value: metadata, unknown: [], malformed: name };
    if (value !== EMPTY && value !== MALFORMED) kept[name] = value;
    same &&= value === metadata[name];
  }
  return { value: same ? metadata : kept, unknown };
}

/** What is written as nothing, and what cannot be read. */
const EMPTY = Symbol('empty');
const MALFORMED = Symbol('malformed');

type Reader = (value: unknown) => unknown;

const text: Reader = (value) => (typeof value === 'string' ? value || EMPTY : MALFORMED);
const integer: Reader = (value) => (isInt64(value) ? value || EMPTY : MALFORMED);
const time: Reader = (value) => {
  if (typeof value !== 'string' || !RFC3339.test(value)) return MALFORMED;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? MALFORMED : `${date.toISOString().slice(0, 19)}Z`;
};
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$/;

const texts: Reader = (value) => {
  if (!isObject(value)) return MALFORMED;
  const values = Object.values(value);
  if (values.length === 0) return EMPTY;
  if (values.every((each) => typeof each === 'string')) return value;
  if (values.some((each) => typeof each !== 'string' && each !== null)) return MALFORMED;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, each ?? '']));
};

const list =
  (element: (value: unknown) => unknown): Reader =>
  (value) => {
    if (!Array.isArray(value)) return MALFORMED;
    if (value.length === 0) return EMPTY;
    const made = value.map(element);
    if (made.includes(MALFORMED)) return MALFORMED;
    return made.every((each, index) => each === value[index]) ? value : made;
  };

const textElement = (value: unknown): unknown => {
  if (value === null) return '';
  return typeof value === 'string' ? value : MALFORMED;
};

const OWNER_TEXTS = ['apiVersion', 'kind', 'name', 'uid'];
const OWNER_FLAGS = ['controller', 'blockOwnerDeletion'];

const ownerElement = (value: unknown): unknown => {
  if (value !== null && !isObject(value)) return MALFORMED;
  const owner: JsonObject = value ?? {};
  const made: Record<string, unknown> = {};
  for (const name of OWNER_TEXTS) made[name] = textElement(owner[name] ?? null);
  for (const name of OWNER_FLAGS) {
    if ((owner[name] ?? null) !== null) made[name] = typeof owner[name] === 'boolean' ? owner[name] : MALFORMED;
  }
  if (Object.values(made).includes(MALFORMED)) return MALFORMED;
  const same = Object.keys(owner).length === Object.keys(made).length && Object.keys(made).every((key) => key in owner);
  return same ? owner : made;
};

const FIELDS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['name', text],
  ['generateName', text],
  ['namespace', text],
  ['selfLink', text],
  ['uid', text],
  ['resourceVersion', text],
  ['generation', integer],
  ['creationTimestamp', time],
  ['deletionTimestamp', time],
  ['deletionGracePeriodSeconds', (value) => (isInt64(value) ? value : MALFORMED)],
  ['labels', texts],
  ['annotations', texts],
  ['ownerReferences', list(ownerElement)],
  ['finalizers', list(textElement)],
  ['managedFields', list((value) => (isObject(value) ? value : MALFORMED))],
]);

/** Resources inside a resource: their type and metadata are looked at wherever they are. undefined where there are none. */
export const embeddedCheck = (schema: CrdSchema): Visit | undefined =>
  visitor(schema, (each) => {
    if (each['x-kubernetes-embedded-resource'] !== true) return undefined;
    return (value, run) => {
      if (isObject(value)) checkResource(value, run);
    };
  });

function checkResource(value: JsonObject, run: Run): void {
  for (const name of ['apiVersion', 'kind']) {
    const held = value[name];
    if (!Object.hasOwn(value, name)) run.faultAt(name, 'required', 'is required in a resource');
    else if (typeof held !== 'string') run.faultAt(name, 'x-kubernetes-embedded-resource', 'must be a string');
    else if (held === '') run.faultAt(name, 'x-kubernetes-embedded-resource', 'must not be empty');
  }
  const { apiVersion, kind } = value;
  if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    run.faultAt('apiVersion', 'x-kubernetes-embedded-resource', `${apiVersion} is no group and version`);
  }
  if (typeof kind === 'string' && kind !== '') refuse(run, 'kind', dns1035LabelProblems(kind.toLowerCase()));
  if (Object.hasOwn(value, 'metadata')) checkMetadata(value.metadata, run, 'segment');
}

function refuse(run: Run, name: string, problems: readonly string[]): void {
  for (const problem of problems) run.faultAt(name, 'metadata', problem);
}

const SEGMENT: (name: string) => readonly string[] = (name) => {
  if (name === '.' || name === '..') return [`must not be ${name}`];
  return ['/', '%'].filter((each) => name.includes(each)).map((each) => `must not hold ${each}`);
};

/** `names`: names of custom resources are DNS subdomains, names of embedded ones only parts of a path. */
export function checkMetadata(value: unknown, run: Run, names: 'subdomain' | 'segment'): void {
  run.enter('metadata');
  const { value: metadata, malformed } = coerceMetadata(value);
  if (malformed !== undefined) {
    const at = malformed === '' ? 'it' : malformed;
    run.fault('metadata', `cannot be read: ${at} is not of its type`);
  } else checkFields(metadata as Metadata, run, names);
  run.leave();
}

interface Metadata {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly Readonly<Record<string, unknown>>[];
  readonly finalizers?: readonly string[];
}

const MAX_ANNOTATIONS = 256 * 1024;

function checkFields(metadata: Metadata, run: Run, names: 'subdomain' | 'segment'): void {
  const nameProblems = names === 'subdomain' ? dns1123SubdomainProblems : SEGMENT;
  const { name, generateName, namespace, generation = 0, labels = {}, annotations = {}, finalizers = [] } = metadata;
  if (name !== undefined) refuse(run, 'name', nameProblems(name));
  if (generateName !== undefined) {
    const problems = names === 'subdomain' ? nameProblems(asPrefix(generateName)) : SEGMENT(generateName).slice(-2);
    refuse(run, 'generateName', generateName === '.' || generateName === '..' ? [] : problems);
  }
  if (namespace !== undefined) refuse(run, 'namespace', dns1123LabelProblems(namespace));
  if (generation < 0) refuse(run, 'generation', ['must not be negative']);
  for (const [key, value] of Object.entries(labels)) {
    refuse(run, 'labels', [...qualifiedNameProblems(key), ...labelValueProblems(value)]);
  }
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    refuse(run, 'annotations', qualifiedNameProblems(key.toLowerCase()));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > MAX_ANNOTATIONS) refuse(run, 'annotations', [`must have at most ${MAX_ANNOTATIONS} bytes`]);
  for (const each of finalizers) refuse(run, 'finalizers', qualifiedNameProblems(each));
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    refuse(run, 'finalizers', ['orphan and foregroundDeletion cannot both be set']);
  }
  checkOwners(metadata.ownerReferences ?? [], run);
}

function checkOwners(owners: readonly Readonly<Record<string, unknown>>[], run: Run): void {
  for (const owner of owners) {
    const { apiVersion = '', kind, name, uid } = owner;
    if (!/^(?:[^/]*\/)?[^/]+$/.test(String(apiVersion)))
      refuse(run, 'ownerReferences', ['apiVersion must have a version']);
    for (const [field, value] of Object.entries({ kind, name, uid })) {
      if (value === '') refuse(run, 'ownerReferences', [`${field} must not be empty`]);
    }
    if (apiVersion === 'v1' && kind === 'Event') refuse(run, 'ownerReferences', ['an Event cannot be an owner']);
  }
  if (owners.filter(({ controller }) => controller === true).length > 1) {
    refuse(run, 'ownerReferences', ['only one owner can be the controller']);
  }
}
