/** From manifests to definitions that can be compared, each with the places of its fields; what cannot be one is told with its place. */
import { type Crd, readCrd } from '../../crd-compat/index.ts';
import type { LocatedObject, Place, Problem, SourceDocument } from '../documents.ts';

/** Where a definition was found. */
export interface Origin {
  readonly file: string;
  /** Where a field of the definition stands, or what is nearest to it; undefined where there is no text. */
  place(field: string): Place | undefined;
  lineAt(line: number): string | undefined;
}

export interface Definition {
  readonly name: string;
  readonly crd: Crd;
  readonly origin: Origin;
}

/** The API server takes no request that is larger, and etcd not even half of it. */
const MOST_CHARACTERS = 3 * 2 ** 20;

/** Whether a document is to be parsed. In a directory only definitions are looked for; a file that was named must make sense as a whole. */
export const acceptDocument =
  (named: boolean) =>
  (document: SourceDocument): boolean | Problem => {
    if (!named && !document.text.includes('CustomResourceDefinition')) return false;
    if (document.text.length <= MOST_CHARACTERS) return true;
    const megabytes = (document.text.length / 2 ** 20).toFixed(1);
    return {
      code: 'too-large',
      file: document.file,
      ...document.start(),
      message: `this document has ${megabytes} MB, and the API server takes at most 3 MB: give a smaller one.`,
    };
  };

export const isDefinition = ({ object }: LocatedObject): boolean => object.kind === 'CustomResourceDefinition';

export interface Definitions {
  readonly definitions: Definition[];
  readonly problems: Problem[];
}

export function definitionsOf(located: readonly LocatedObject[]): Definitions {
  const found: Definitions = { definitions: [], problems: [] };
  for (const each of located) takeDefinition(cleaned(each.object, false), each, found);
  return { ...found, definitions: withoutRepeated(found) };
}

/** From a cluster, where there is no text to point at. */
export function liveDefinition(object: unknown, file: string): Definitions {
  const found: Definitions = { definitions: [], problems: [] };
  takeDefinition(cleaned(object, false), { file, place: () => undefined, lineAt: () => undefined }, found);
  return found;
}

function takeDefinition(value: unknown, origin: Origin, into: Definitions): void {
  const { crd, issues } = readCrd(withoutEmptyStatus(value));
  for (const { code, path, message, next } of issues) {
    into.problems.push({ code, file: origin.file, ...origin.place(path), message: `${message} ${next}` });
  }
  if (crd !== undefined) into.definitions.push({ name: crd.metadata.name, crd, origin });
}

/** Generators write a status that says nothing; only a cluster knows which versions objects are stored in. */
function withoutEmptyStatus(value: unknown): unknown {
  const { status, ...definition } = value as { status?: { storedVersions?: unknown } };
  const { storedVersions } = status ?? {};
  return Array.isArray(storedVersions) && storedVersions.length > 0 ? value : definition;
}

/** The same definition in two files is one; two of one name in a file, or two that differ, leave open which of them counts. */
function withoutRepeated({ definitions, problems }: Definitions): Definition[] {
  const first = new Map<string, Definition>();
  for (const definition of definitions) {
    const { name, crd, origin } = definition;
    const other = first.get(name);
    if (other === undefined) {
      first.set(name, definition);
      continue;
    }
    const isCopy = other.origin.file !== origin.file && JSON.stringify(other.crd.spec) === JSON.stringify(crd.spec);
    if (isCopy) continue;
    const { line } = other.origin.place('') ?? { line: 1 };
    problems.push({
      code: 'twice',
      file: origin.file,
      ...origin.place('metadata.name'),
      message: `${name} is in ${other.origin.file}:${line} already: keep one of the two documents.`,
    });
  }
  return [...first.values()];
}

/** As the API server reads it: a field that is null is not there, and numbers are floating-point ones. What a schema holds as data stays. */
function cleaned(value: unknown, isData: boolean): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map((item) => cleaned(item, isData));
  if (typeof value !== 'object' || value === null) return value;
  const made: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === null && !isData) continue;
    made[key] = cleaned(member, isData || key === 'default' || key === 'enum' || key === 'example');
  }
  return made;
}
