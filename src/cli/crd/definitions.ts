/** Turns manifests into definitions that can be compared, with the positions of their fields; invalid ones are reported with their position. */
import { type Crd, type CrdIssue, readCrd, refusedParts } from '../../crd-compat/index.ts';
import type { LocatedObject, Place, Problem, SourceDocument } from '../documents/index.ts';

/** Where a definition was found. */
interface Origin {
  readonly file: string;
  /** Where a field of the definition stands, or what is nearest to it; undefined where there is no text. */
  place(field: string): Place | undefined;
  lineAt(line: number): string | undefined;
}

export interface Definition {
  readonly name: string;
  /** Where it is on its side of a comparison: what is at the same path on the other was it before, or is it now. */
  readonly path: string;
  readonly crd: Crd;
  readonly origin: Origin;
  /** An API server has it: what would be refused today it took once. */
  readonly isStored?: boolean;
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
      message: `this document has ${megabytes} MB, but the API server accepts at most 3 MB: split it.`,
    };
  };

/** In a directory a kind of that name may be somebody else's. */
export const isDefinition = ({ object }: LocatedObject, named: boolean): boolean =>
  object.kind === 'CustomResourceDefinition' && (named || object.apiVersion.startsWith('apiextensions.k8s.io/'));

export interface Definitions {
  readonly definitions: Definition[];
  readonly problems: Problem[];
}

/** From a cluster, where there is no text to point at. */
export function liveDefinition(object: unknown, file: string): Definitions {
  const origin = { file, place: () => undefined, lineAt: () => undefined };
  const { definition, problems } = taken(object, origin, file);
  return { definitions: definition === undefined ? [] : [{ ...definition, isStored: true }], problems };
}

/** `path` is where it is on its side. */
export const definitionIn = (located: LocatedObject, path: string): Taken => taken(located.object, located, path);

interface Taken {
  readonly definition?: Definition;
  readonly problems: Problem[];
}

function taken(value: unknown, origin: Origin, path: string): Taken {
  const { crd, issues } = readCrd(withoutEmptyStatus(cleaned(value, false)));
  const problems = issues.map((issue) => problemOf(issue, origin));
  return { problems, ...(crd === undefined ? {} : { definition: { name: crd.metadata.name, path, crd, origin } }) };
}

/** What the API server would refuse of a definition that takes the place of another, where that is not as it was. */
export function refusals(before: Definition | undefined, after: Definition | undefined): Problem[] {
  if (after === undefined || after.isStored === true) return [];
  return refusedParts(before?.crd, after.crd).map((issue) => problemOf(issue, after.origin));
}

const problemOf = ({ code, path, message, next }: CrdIssue, origin: Origin): Problem => ({
  code,
  file: origin.file,
  ...origin.place(path),
  message: `${message} ${next}`,
});

/** Generators write a status that says nothing; only a cluster knows which versions objects are stored in. */
function withoutEmptyStatus(value: unknown): unknown {
  const { status, ...definition } = value as { status?: { storedVersions?: unknown } };
  const { storedVersions } = status ?? {};
  return Array.isArray(storedVersions) && storedVersions.length > 0 ? value : definition;
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
