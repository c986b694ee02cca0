/** Locates a change in the files: the keyword that was changed on either side, or its nearest existing parent. */
import type { Change, Crd, CrdSchema } from '../../crd-compat/index.ts';
import type { Definition } from './definitions.ts';

export interface ChangedLine {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The text of the line. */
  readonly text: string;
}

interface ChangedLines {
  /** Undefined if the change has no counterpart on that side, or if there is no source text. */
  readonly before?: ChangedLine;
  readonly after?: ChangedLine;
  /** The position for annotations: on the new side if it exists. */
  readonly at: { readonly file: string; readonly line?: number; readonly column?: number };
}

export function changedLines(
  change: Change,
  before: Definition | undefined,
  after: Definition | undefined,
): ChangedLines {
  const old = before === undefined ? undefined : lineOf(before, change, change.before, change.after);
  const now = after === undefined ? undefined : lineOf(after, renamed(change), change.after, change.before);
  return {
    ...(old === undefined ? {} : { before: old }),
    ...(now === undefined ? {} : { after: now }),
    at: nearestPlace(change, before, after, now),
  };
}

function nearestPlace(
  change: Change,
  before: Definition | undefined,
  after: Definition | undefined,
  now: ChangedLine | undefined,
): ChangedLines['at'] {
  if (now !== undefined) return { file: now.file, line: now.line, column: now.column };
  const definition = after ?? before;
  if (definition === undefined) return { file: '' };
  const { origin, crd } = definition;
  return { file: origin.file, ...origin.place(written(fieldOf(change, crd).path)) };
}

function lineOf({ crd, origin }: Definition, change: Change, value: unknown, other: unknown): ChangedLine | undefined {
  const { path, isThere } = fieldOf(change, crd);
  if (!isThere) return undefined;
  const keyword = keywordOf(change, valueAt(crd, path), value, other);
  if (keyword === undefined) return undefined;
  const place = origin.place(written([...path, ...keyword]));
  if (place === undefined) return undefined;
  const text = origin.lineAt(place.line);
  return text === undefined ? undefined : { file: origin.file, ...place, text: excerpt(text, place.column) };
}

/** `excerpt` shortens a long line, such as minified JSON, to start at the change. */
const excerpt = (line: string, column: number): string =>
  line.length > 160 ? `…${line.slice(column - 1)}` : line.trim();

/** `renamed` returns the change with the path on the new side, where a renamed field has its new name. */
function renamed(change: Change): Change {
  if (change.kind !== 'field-renamed') return change;
  return { ...change, path: `${change.path.slice(0, change.path.lastIndexOf('.'))}.${String(change.after)}` };
}

type Steps = readonly (string | number)[];

/** `fieldOf` returns the path in the definition to the changed field, as far as it exists. */
function fieldOf(change: Change, crd: Crd): { readonly path: Steps; readonly isThere: boolean } {
  if (change.kind === 'crd-created' || change.kind === 'crd-deleted') return { path: [], isThere: true };
  if (!change.path.startsWith('.')) return inDefinition(change.path, crd);
  const index = crd.spec.versions.findIndex(({ name }) => name === change.version);
  const schema = crd.spec.versions[index]?.schema?.openAPIV3Schema;
  if (schema === undefined) return { path: ['spec', 'versions'], isThere: false };
  const root: Steps = ['spec', 'versions', index, 'schema', 'openAPIV3Schema'];
  const path = change.path === '.' ? '' : change.path;
  // The `required` keyword is in the schema of the parent object.
  const isRequirement = change.kind.startsWith('required-');
  const found = inSchema(schema, path, root);
  if (!isRequirement) return found;
  return { path: aroundField(found), isThere: true };
}

const aroundField = ({ path, isThere }: { path: Steps; isThere: boolean }): Steps =>
  isThere ? path.slice(0, -2) : path;

/** `inDefinition` resolves `spec.versions[v1].additionalPrinterColumns[Age]`: brackets contain the name of a list item. */
function inDefinition(path: string, crd: Crd): { path: Steps; isThere: boolean } {
  const steps: (string | number)[] = [];
  let value: unknown = crd;
  for (const [, field, item] of path.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)) {
    const step =
      item === undefined ? (field ?? '') : Array.isArray(value) ? value.findIndex((each) => each?.name === item) : item;
    const next = isMembers(value) && step !== -1 ? value[step] : undefined;
    if (next === undefined) return { path: steps, isThere: false };
    steps.push(step);
    value = next;
  }
  return { path: steps, isThere: true };
}

/** `inSchema` resolves `.spec.items[].labels.*`. A name may contain dots, so the schema decides where it ends. */
function inSchema(schema: CrdSchema, rest: string, path: Steps): { path: Steps; isThere: boolean } {
  if (rest === '') return { path, isThere: true };
  if (rest.startsWith('[]') && schema.items !== undefined) {
    return inSchema(schema.items, rest.slice(2), [...path, 'items']);
  }
  const { properties = {}, additionalProperties } = schema;
  const name = Object.keys(properties)
    .filter((each) => rest.startsWith(`.${each}`) && /^(?:[.[]|$)/.test(rest.slice(each.length + 1)))
    .sort((one, other) => other.length - one.length)[0];
  const field = name === undefined ? undefined : properties[name];
  if (name !== undefined && field !== undefined) {
    return inSchema(field, rest.slice(name.length + 1), [...path, 'properties', name]);
  }
  if (rest.startsWith('.*') && typeof additionalProperties === 'object') {
    return inSchema(additionalProperties, rest.slice(2), [...path, 'additionalProperties']);
  }
  return { path, isThere: false };
}

/** The schema keywords of each family of changes. */
const keywords: readonly (readonly [string, readonly string[]])[] = [
  ['minimum-', ['minimum', 'exclusiveMinimum']],
  ['maximum-', ['maximum', 'exclusiveMaximum']],
  ['multiple-of-', ['multipleOf']],
  ['min-length-', ['minLength']],
  ['max-length-', ['maxLength']],
  ['min-items-', ['minItems']],
  ['max-items-', ['maxItems']],
  ['unique-items-', ['uniqueItems']],
  ['min-properties-', ['minProperties']],
  ['max-properties-', ['maxProperties']],
  ['pattern-', ['pattern']],
  ['format-', ['format']],
  ['enum-', ['enum']],
  ['nullable-', ['nullable']],
  ['default-', ['default']],
  ['description-', ['description', 'title']],
  ['required-', ['required']],
  ['type-', ['type', 'x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields']],
  ['map-values-', ['additionalProperties']],
  ['fields-became-map', ['additionalProperties', 'properties']],
  ['map-became-fields', ['additionalProperties', 'properties']],
  ['preserve-unknown-fields-', ['x-kubernetes-preserve-unknown-fields']],
  ['embedded-resource-', ['x-kubernetes-embedded-resource']],
  ['list-type-', ['x-kubernetes-list-type']],
  ['list-map-keys-', ['x-kubernetes-list-map-keys']],
  ['map-type-', ['x-kubernetes-map-type']],
  ['all-of-', ['allOf']],
  ['any-of-', ['anyOf']],
  ['one-of-', ['oneOf']],
  ['not-', ['not']],
  ['rule-', ['x-kubernetes-validations']],
  ['transition-rule-', ['x-kubernetes-validations']],
];

/**
 * `keywordOf` returns the path from the field to the changed keyword: empty if the field itself changed, undefined if this side does not
 * have the keyword.
 */
function keywordOf(change: Change, schema: unknown, value: unknown, other: unknown): Steps | undefined {
  const names = keywords.find(([kind]) => change.kind.startsWith(kind))?.[1];
  if (names === undefined || !isMembers(schema)) return [];
  const name = names.find((each) => schema[each] !== undefined);
  if (name === undefined) return undefined;
  const written = schema[name];
  if (!Array.isArray(written)) return [name];
  const isRequirement = change.kind.startsWith('required-');
  const wanted = isRequirement ? change.path.split('.').at(-1) : (onlyIn(value, other) ?? value);
  const index = written.findIndex((each) => JSON.stringify(each) === JSON.stringify(wanted));
  if (index >= 0) return [name, index];
  // An added item is not in the old list, and a removed item is not in the new one.
  return value === undefined || isRequirement || Array.isArray(other) ? undefined : [name];
}

/** `onlyIn` returns the first item that only the first list has. */
function onlyIn(list: unknown, other: unknown): unknown {
  if (!Array.isArray(list) || !Array.isArray(other)) return undefined;
  const known = new Set(other.map((each) => JSON.stringify(each)));
  return list.find((each) => !known.has(JSON.stringify(each)));
}

function valueAt(root: unknown, path: Steps): unknown {
  return path.reduce<unknown>((value, step) => (isMembers(value) ? value[step] : undefined), root);
}

const isMembers = (value: unknown): value is Record<string | number, unknown> =>
  typeof value === 'object' && value !== null;

/** `written` formats a path for `place`. */
const written = (path: Steps): string =>
  path.map((step) => (typeof step === 'number' ? `[${step}]` : `[${JSON.stringify(step)}]`)).join('');
