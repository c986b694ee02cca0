/**
 * Reads a `Crd` from a parsed document. Bad input is reported, never thrown: each issue has a stable code, its path in the document and the
 * next step. Time and memory are bounded for every input.
 */
import type { Crd } from './crd.ts';
import { isObject } from './json.ts';
import { MAX_ISSUES, structuralIssues } from './structural.ts';

export type CrdIssueCode =
  | 'not-a-crd'
  | 'old-api-version'
  | 'list'
  | 'missing'
  | 'wrong-type'
  | 'invalid'
  | 'not-structural'
  | 'reference'
  | 'too-deep'
  | 'too-large'
  /** Only `refusedParts` reports the following codes. */
  | 'default'
  | 'pattern'
  | 'rule';

export interface CrdIssue {
  readonly code: CrdIssueCode;
  /** The path in the document, such as `spec.versions[0].schema.openAPIV3Schema.properties.spec`. */
  readonly path: string;
  readonly message: string;
  /** What to do about it. */
  readonly next: string;
}

export interface ReadCrd {
  /** Undefined if there are issues. */
  readonly crd?: Crd;
  readonly issues: readonly CrdIssue[];
}

/** One level of a schema is two levels of the document (`properties` and the name), and the definition around it adds a few. */
const MAX_LEVELS = 300;
/** The API server rejects definitions over 1.5 MB; the largest public one has about 60,000 values. */
const MAX_VALUES = 500_000;

/**
 * `readCrd` checks that a parsed document is a CustomResourceDefinition that can be compared.
 *
 *     const { crd, issues } = readCrd({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' });
 *     console.log(crd, issues[0]?.path, issues[0]?.message); // undefined spec spec is missing.
 */
export function readCrd(value: unknown): ReadCrd {
  const issues = identityIssues(value);
  if (issues.length > 0) return { issues };
  const whole = isOrdinary(value) ? undefined : wholeIssue(value);
  if (whole !== undefined) return { issues: [whole] };
  const document = value as Members;
  const found = [...definitionIssues(document)];
  if (found.length === 0) {
    for (const [index, version] of (document as unknown as Crd).spec.versions.entries()) {
      const schema = version.schema?.openAPIV3Schema;
      const path = `spec.versions[${index}].schema.openAPIV3Schema`;
      if (schema !== undefined) found.push(...structuralIssues(schema, path));
      if (found.length >= MAX_ISSUES) break;
    }
  }
  return found.length > 0 ? { issues: found.slice(0, MAX_ISSUES) } : { crd: value as Crd, issues: [] };
}

type Members = Readonly<Record<string, unknown>>;

const members = (value: unknown): Members | undefined => (isObject(value) ? value : undefined);

const nameOf = (value: unknown): string => {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
};

function identityIssues(value: unknown): CrdIssue[] {
  const document = members(value);
  if (document === undefined) {
    return [
      {
        code: 'not-a-crd',
        path: '',
        message: `This is ${nameOf(value)}, not a CustomResourceDefinition.`,
        next: 'Provide one CustomResourceDefinition of apiextensions.k8s.io/v1.',
      },
    ];
  }
  const { apiVersion, kind } = document;
  if (kind === 'List' || kind === 'CustomResourceDefinitionList') {
    return [
      {
        code: 'list',
        path: 'kind',
        message: `This is a ${kind}; one CustomResourceDefinition is compared with one.`,
        next: 'Provide its items one by one.',
      },
    ];
  }
  if (kind !== 'CustomResourceDefinition') {
    return [
      {
        code: 'not-a-crd',
        path: 'kind',
        message: `The kind is ${JSON.stringify(kind ?? null)}, not "CustomResourceDefinition".`,
        next: 'Provide one CustomResourceDefinition of apiextensions.k8s.io/v1.',
      },
    ];
  }
  if (apiVersion !== 'apiextensions.k8s.io/v1') {
    const old = apiVersion === 'apiextensions.k8s.io/v1beta1';
    return [
      {
        code: old ? 'old-api-version' : 'not-a-crd',
        path: 'apiVersion',
        message: old
          ? 'apiextensions.k8s.io/v1beta1 is no longer served since Kubernetes 1.22.'
          : `The apiVersion is ${JSON.stringify(apiVersion ?? null)}, not "apiextensions.k8s.io/v1".`,
        next: old
          ? 'Write it as apiextensions.k8s.io/v1: schema, subresources and columns move into each version.'
          : 'Provide one CustomResourceDefinition of apiextensions.k8s.io/v1.',
      },
    ];
  }
  return [];
}

/** Whether `wholeIssue` has nothing to report. This is nearly always true, and is decided without building paths. */
function isOrdinary(root: unknown): boolean {
  let left = MAX_VALUES - 1;
  const within = (value: object, level: number): boolean => {
    if (level >= MAX_LEVELS) return false;
    if (Array.isArray(value)) {
      left -= value.length;
      return left >= 0 && value.every((each) => typeof each !== 'object' || each === null || within(each, level + 1));
    }
    for (const key of Object.keys(value)) {
      if (--left < 0 || key === '__proto__') return false;
      const member = (value as Members)[key];
      if (typeof member === 'object' && member !== null && !within(member, level + 1)) return false;
    }
    return true;
  };
  return typeof root !== 'object' || root === null || within(root, 0);
}

/**
 * Counts a value once for each place where it occurs, so that a document with YAML aliases counts as large as its
 * expansion.
 */
function wholeIssue(root: unknown): CrdIssue | undefined {
  const waiting: { value: unknown; level: number; path: string }[] = [{ value: root, level: 0, path: '' }];
  let seen = 0;
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    const { value, level, path } = item;
    seen++;
    if (seen > MAX_VALUES) {
      return {
        code: 'too-large',
        path: '',
        message: `The definition has more than ${MAX_VALUES} values.`,
        next: 'The API server rejects definitions over 1.5 MB: remove descriptions, or keep open parts as x-kubernetes-preserve-unknown-fields.',
      };
    }
    if (typeof value !== 'object' || value === null) continue;
    if (level >= MAX_LEVELS) {
      return {
        code: 'too-deep',
        path: path.length > 200 ? `${path.slice(0, 200)}…` : path,
        message: `The definition is nested more than ${MAX_LEVELS} levels deep.`,
        next: 'Flatten the schema, or keep the deep part as x-kubernetes-preserve-unknown-fields.',
      };
    }
    if (Array.isArray(value)) {
      for (const [index, member] of value.entries())
        waiting.push({ value: member, level: level + 1, path: `${path}[${index}]` });
    } else {
      for (const key in value) {
        if (key === '__proto__') return unspeakable(path);
        const member = (value as Members)[key];
        // The paths of leaves are not needed, and there are many leaves.
        const leaf = typeof member !== 'object' || member === null;
        waiting.push({ value: member, level: level + 1, path: leaf ? '' : `${path}${path === '' ? '' : '.'}${key}` });
      }
    }
  }
  return undefined;
}

/**
 * JavaScript gives `__proto__` a special meaning, so that a field of that name could hide others. No known project has
 * such a field.
 */
const unspeakable = (path: string): CrdIssue => ({
  code: 'invalid',
  path,
  message: `${path === '' ? 'The definition' : path} has a key __proto__, which cannot be compared.`,
  next: 'Rename the key.',
});

type Wanted = 'text' | 'object' | 'list' | 'boolean';

const isOf: Readonly<Record<Wanted, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string' && value !== '',
  object: (value) => members(value) !== undefined,
  list: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
};

function* definitionIssues(document: Members): Generator<CrdIssue> {
  const fault = (wanted: Wanted, value: unknown, path: string): CrdIssue =>
    value === undefined || value === null || value === ''
      ? { code: 'missing', path, message: `${path} is missing.`, next: `Set ${path}.` }
      : {
          code: 'wrong-type',
          path,
          message: `${path} is ${nameOf(value)}, not ${wanted === 'text' ? 'a string' : wanted === 'object' ? 'an object' : `a ${wanted}`}.`,
          next: `Correct ${path}.`,
        };
  const spec = members(document.spec);
  if (spec === undefined) return yield fault('object', document.spec, 'spec');
  if (!isOf.text(members(document.metadata)?.name))
    yield fault('text', members(document.metadata)?.name, 'metadata.name');
  if (!isOf.text(spec.group)) yield fault('text', spec.group, 'spec.group');
  if (!isOf.text(spec.scope)) yield fault('text', spec.scope, 'spec.scope');
  const names = members(spec.names);
  if (names === undefined) yield fault('object', spec.names, 'spec.names');
  else {
    for (const name of ['plural', 'kind'])
      if (!isOf.text(names[name])) yield fault('text', names[name], `spec.names.${name}`);
    for (const name of ['shortNames', 'categories']) {
      if (names[name] !== undefined && !isOf.list(names[name])) yield fault('list', names[name], `spec.names.${name}`);
    }
  }
  if (spec.conversion !== undefined && !isOf.object(spec.conversion))
    yield fault('object', spec.conversion, 'spec.conversion');
  if (!Array.isArray(spec.versions)) return yield fault('list', spec.versions, 'spec.versions');
  yield* versionIssues(spec.versions, fault);
}

/** The lists of a version, and the fields that each of their items must have. */
const listedTexts: Readonly<Record<string, readonly string[]>> = {
  additionalPrinterColumns: ['name', 'type', 'jsonPath'],
  selectableFields: ['jsonPath'],
};

function* itemIssues(
  items: readonly unknown[],
  texts: readonly string[],
  path: string,
  fault: (wanted: Wanted, value: unknown, path: string) => CrdIssue,
): Generator<CrdIssue> {
  for (const [index, value] of items.entries()) {
    const item = members(value);
    if (item === undefined) yield fault('object', value, `${path}[${index}]`);
    else
      for (const name of texts)
        if (!isOf.text(item[name])) yield fault('text', item[name], `${path}[${index}].${name}`);
  }
}

function* versionIssues(
  versions: readonly unknown[],
  fault: (wanted: Wanted, value: unknown, path: string) => CrdIssue,
): Generator<CrdIssue> {
  const names = new Set<unknown>();
  let stored = 0;
  for (const [index, value] of versions.entries()) {
    const path = `spec.versions[${index}]`;
    const version = members(value);
    if (version === undefined) {
      yield fault('object', value, path);
      continue;
    }
    if (!isOf.text(version.name)) yield fault('text', version.name, `${path}.name`);
    else if (names.has(version.name)) {
      yield {
        code: 'invalid',
        path: `${path}.name`,
        message: `Version ${version.name} is listed twice.`,
        next: 'Keep one of them.',
      };
    }
    names.add(version.name);
    for (const flag of ['served', 'storage']) {
      if (!isOf.boolean(version[flag])) yield fault('boolean', version[flag], `${path}.${flag}`);
    }
    if (version.storage === true) stored++;
    for (const [list, texts] of Object.entries(listedTexts)) {
      const items = version[list];
      if (items === undefined) continue;
      if (!Array.isArray(items)) yield fault('list', items, `${path}.${list}`);
      else yield* itemIssues(items, texts, `${path}.${list}`, fault);
    }
    const schema = members(version.schema)?.openAPIV3Schema;
    if (!isOf.object(schema)) yield fault('object', schema, `${path}.schema.openAPIV3Schema`);
  }
  if (stored !== 1) {
    yield {
      code: 'invalid',
      path: 'spec.versions',
      message: `${stored === 0 ? 'No version has' : `${stored} versions have`} storage: true; exactly one must.`,
      next: 'Set storage: true on the version that objects are kept in, and false on the others.',
    };
  }
}
