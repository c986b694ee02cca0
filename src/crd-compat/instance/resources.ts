/** Checks the type and metadata of resources, at the root and embedded ones. */
import {
  asPrefix,
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from '../../cel/internal.ts';
import type { CrdSchema } from '../schema.ts';
import { isObject, type JsonObject } from './json.ts';
import { coerceMetadata } from './metadata.ts';
import type { Run } from './run.ts';
import { traitsOf } from './traits.ts';
import { type At, visitAll } from './visitor.ts';

/**
 * Checks embedded resources, whose type and metadata are validated wherever they are; undefined if the schema has none.
 */
export const embeddedCheck = (schema: CrdSchema): ((value: unknown, run: Run) => void) | undefined =>
  traitsOf(schema).embedded ? (value, run) => visitAll(value, schema, resourceVisit, run) : undefined;

const resourceVisit: At = (schema) =>
  schema['x-kubernetes-embedded-resource'] === true
    ? (value, run) => {
        if (isObject(value)) checkResource(value, run);
      }
    : undefined;

function checkResource(value: JsonObject, run: Run): void {
  for (const name of ['apiVersion', 'kind']) {
    const held = value[name];
    if (!Object.hasOwn(value, name)) run.faultAt(name, 'required', 'is required in a resource');
    else if (typeof held !== 'string') run.faultAt(name, 'x-kubernetes-embedded-resource', 'must be a string');
    else if (held === '') run.faultAt(name, 'x-kubernetes-embedded-resource', 'must not be empty');
  }
  const { apiVersion, kind } = value;
  if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    run.faultAt('apiVersion', 'x-kubernetes-embedded-resource', `${apiVersion} is not a valid apiVersion`);
  }
  if (typeof kind === 'string' && kind !== '') refuse(run, 'kind', dns1035LabelProblems(kind.toLowerCase()));
  if (Object.hasOwn(value, 'metadata')) checkMetadata(value.metadata, run, 'segment');
}

function refuse(run: Run, name: string, problems: readonly string[]): void {
  for (const problem of problems) run.faultAt(name, 'metadata', problem);
}

/** For each kind of name, the faults of a name and of a generateName prefix. */
const NAMES = {
  subdomain: { whole: dns1123SubdomainProblems, prefix: (name: string) => dns1123SubdomainProblems(asPrefix(name)) },
  segment: {
    whole: (name: string) => (name === '.' || name === '..' ? [`must not be ${name}`] : segmentProblems(name)),
    prefix: segmentProblems,
  },
};

function segmentProblems(name: string): readonly string[] {
  return ['/', '%'].filter((each) => name.includes(each)).map((each) => `must not contain ${each}`);
}

/**
 * `names` selects the rules: names of custom resources are DNS subdomains, names of embedded resources are path
 * segments.
 */
export function checkMetadata(value: unknown, run: Run, names: keyof typeof NAMES): void {
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

function checkFields(metadata: Metadata, run: Run, names: keyof typeof NAMES): void {
  const { name, generateName, namespace, generation = 0, labels = {}, annotations = {}, finalizers = [] } = metadata;
  if (name !== undefined) refuse(run, 'name', NAMES[names].whole(name));
  if (generateName !== undefined) refuse(run, 'generateName', NAMES[names].prefix(generateName));
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
