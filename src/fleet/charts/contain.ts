/**
 * Prepares a chart for Helm. The JSON schema library of Helm fetches whatever a `values.schema.json` refers to, over HTTP and from the file
 * system of this machine, so a chart whose schemas refer to anything outside of themselves is refused.
 */
import { FleetError } from '../contract.ts';
import { mostUnpacked, repack, unpack } from './archive.ts';

const mostNested = 5;

/**
 * `containChart` returns the chart as an archive of exactly the files that were read here, also those of packed subcharts: an archive can be
 * made to look different to another reader. Rejects with `chart/invalid`.
 */
export const containChart = (bytes: Buffer): Promise<Buffer> => contain(bytes, [], { bytes: mostUnpacked });

/** `left` is what all archives together may still have. */
async function contain(bytes: Buffer, within: readonly string[], left: { bytes: number }): Promise<Buffer> {
  if (within.length > mostNested) throw invalid(`charts are nested deeper than ${mostNested} archives`);
  const files = new Map(await unpack(bytes, left.bytes));
  for (const data of files.values()) left.bytes -= data.length;
  for (const [path, data] of files) {
    if (/(?:^|\/)values\.schema\.json$/.test(path)) requireContained(data, [...within, path].join('/'));
    if (isSubchart.test(path)) files.set(path, await contain(data, [...within, path], left));
  }
  return repack(files);
}

/** Helm ignores those whose name starts with a dot or an underscore. */
const isSubchart = /(?:^|\/)charts\/[^/._][^/]*\.tgz$/;

function requireContained(data: Buffer, place: string): void {
  let schema: unknown;
  try {
    schema = JSON.parse(data.toString('utf8'));
  } catch (cause) {
    throw invalid(`${place} is not valid JSON`, cause);
  }
  const reference = outsideReference(schema);
  if (reference === undefined) return;
  const shown = JSON.stringify(reference).slice(0, 200);
  throw invalid(`${place} refers to ${shown}, and schemas are not fetched: copy what it refers to into the schema`);
}

const referring = ['$ref', '$dynamicRef', '$recursiveRef', '$schema'];
/** These are part of Helm; `urn:` is not resolved. A fragment leads into the document itself. */
const isInside =
  /^(?:#|urn:|https?:\/\/json-schema\.org\/(?:draft-0[467]\/|draft\/(?:2019-09|2020-12)\/)?schema(?:#|$))/;

/**
 * `outsideReference` returns a reference that leads out of the document. It looks at every object, also where a schema has only data: a
 * reference can make a schema of them.
 */
export function outsideReference(schema: unknown): string | undefined {
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, each] of Object.entries(value)) {
      if (typeof each === 'object') open.push(each);
      else if (typeof each === 'string' && referring.includes(key) && each !== '' && !isInside.test(each)) return each;
    }
  }
  return undefined;
}

const invalid = (why: string, cause?: unknown): FleetError =>
  new FleetError('chart/invalid', `The chart is refused: ${why}`, cause === undefined ? {} : { cause });
