/** Turns manifests into definitions that can be compared, with the positions of their fields; invalid ones are reported with their position. */
import { type Crd, type CrdIssue, readCrd, refusedParts } from '../../crd-compat/index.ts';
import type { LocatedObject, Place, Problem, SourceDocument } from '../documents/index.ts';

/** The file that a definition was read from. */
interface Origin {
  readonly file: string;
  /** Returns the position of a field, or of its nearest existing parent; undefined without a source text. */
  place(field: string): Place | undefined;
  lineAt(line: number): string | undefined;
}

export interface Definition {
  readonly name: string;
  /** Its path on its side of a comparison: definitions at the same path on both sides are versions of each other. */
  readonly path: string;
  readonly crd: Crd;
  readonly origin: Origin;
  /** Whether it comes from an API server, which has accepted it, even if it would be rejected today. */
  readonly isStored?: boolean;
}

/** The size limit of API server requests; the limit of etcd is less than half of it. */
const MOST_CHARACTERS = 3 * 2 ** 20;

/**
 * `acceptDocument` decides whether to parse a document. In a directory only possible definitions are parsed; in a file given by name
 * every document must be valid.
 */
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
      message: `this document is ${megabytes} MB large, but the API server accepts at most 3 MB: split it.`,
    };
  };

/** `isDefinition` recognizes definitions. In a directory, a CustomResourceDefinition of another group is ignored. */
export const isDefinition = ({ object }: LocatedObject, named: boolean): boolean =>
  object.kind === 'CustomResourceDefinition' && (named || object.apiVersion.startsWith('apiextensions.k8s.io/'));

export interface Definitions {
  readonly definitions: Definition[];
  readonly problems: Problem[];
}

/** `liveDefinition` reads a definition of a cluster, which has no source text to point at. */
export function liveDefinition(object: unknown, file: string): Definitions {
  const origin = { file, place: () => undefined, lineAt: () => undefined };
  const { definition, problems } = taken(object, origin, file);
  return { definitions: definition === undefined ? [] : [{ ...definition, isStored: true }], problems };
}

/** `definitionIn` reads a definition of a file; `path` is its path on its side of the comparison. */
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

/** `refusals` returns the parts of an updated definition that the API server would reject; unchanged parts are exempt. */
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

/** `withoutEmptyStatus` removes the empty status that generators write: only a cluster knows the stored versions. */
function withoutEmptyStatus(value: unknown): unknown {
  const { status, ...definition } = value as { status?: { storedVersions?: unknown } };
  const { storedVersions } = status ?? {};
  return Array.isArray(storedVersions) && storedVersions.length > 0 ? value : definition;
}

/**
 * `cleaned` normalizes a definition the way the API server does: null fields are removed and numbers become floating-point numbers.
 * Values that a schema holds as data, such as defaults, keep their nulls.
 */
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
