/**
 * Many changes tried as one: each schema becomes a field of one definition, so that the API server has one change to hear of and not a
 * hundred. What an object of one of them meets is the same as alone, since fields are validated, pruned and defaulted each for itself.
 */
import type { CrdSchema, Json } from '../../../src/crd-compat/index.ts';
import type { Client } from '../../../src/runtime/index.ts';
import { attempt, type Change, type Difference, type Outcome, type Seen } from './trial.ts';

/** The outcomes in the order of the changes. Those that the API server will not take together are tried alone. */
export async function attemptAll(client: Client, changes: readonly Change[], atOnce = 16): Promise<Outcome[]> {
  const outcomes = new Map<Change, Outcome>();
  const alone = changes.filter((change) => !isOnlySchema(change) || isOfWhole(change));
  const shared = changes.filter((change) => !alone.includes(change));
  // Only definitions that are the same but for their schemas can stand in for each other.
  const alike = Object.values(
    Object.groupBy(shared, ({ before, after }) =>
      JSON.stringify([before, after].map((each) => withSchemas(each, () => ({})))),
    ),
  );
  const batches = [
    ...alike.flatMap((all = []) =>
      Array.from({ length: Math.ceil(all.length / atOnce) }, (_, index) =>
        all.slice(index * atOnce, (index + 1) * atOnce),
      ),
    ),
    ...alone.map((change) => [change]),
  ];
  const next = batches[Symbol.iterator]();
  const work = async () => {
    for (const batch of next)
      for (const [index, outcome] of (await attemptBatch(client, batch)).entries())
        outcomes.set(batch[index] as Change, outcome);
  };
  await Promise.all(Array.from({ length: 6 }, work));
  return changes.map((change) => outcomes.get(change) as Outcome);
}

async function attemptBatch(client: Client, batch: readonly Change[]): Promise<Outcome[]> {
  const [only] = batch;
  if (batch.length === 1 && only !== undefined) return [await attempt(client, only).catch(refusedBefore)];
  const outcome = await attempt(client, merged(batch)).catch(refusedBefore);
  if (outcome.changeRefused === undefined && outcome.notSetUp === undefined) return apart(batch, outcome.seen);
  const middle = Math.ceil(batch.length / 2);
  const halves = [batch.slice(0, middle), batch.slice(middle)];
  return (await Promise.all(halves.map((half) => attemptBatch(client, half)))).flat();
}

/** A definition that the API server does not take in the first place shows nothing about its change. */
const refusedBefore = (error: Error): Outcome => ({ notSetUp: error.message, seen: [], requests: [] });

interface Definition {
  spec: { versions: readonly Version[] };
}

interface Version {
  readonly name: string;
  readonly schema?: { openAPIV3Schema?: CrdSchema };
  readonly subresources?: unknown;
}

const versionsOf = (definition: Json): readonly Version[] => (definition as unknown as Definition).spec.versions;

const schemasOf = (definition: Json): readonly CrdSchema[] =>
  versionsOf(definition).flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);

const schemaOf = (definition: Json, version: string): CrdSchema =>
  versionsOf(definition).find(({ name }) => name === version)?.schema?.openAPIV3Schema ?? {};

const fieldOf = (index: number): string => `p${index}`;

function withSchemas(definition: Json, schema: (version: string) => CrdSchema): Json {
  const { spec } = definition as unknown as Definition;
  const versions = spec.versions.map((version) => ({
    ...version,
    schema: { openAPIV3Schema: schema(version.name) },
  }));
  return { ...definition, spec: { ...spec, versions } };
}

/** Whether only schemas matter. A status subresource is only one at the root. */
const isOnlySchema = ({ before, after, requests }: Change): boolean =>
  (requests ?? []).length === 0 &&
  [before, after].every(
    (definition) =>
      schemasOf(definition).length === versionsOf(definition).length &&
      versionsOf(definition).every(({ subresources }) => subresources === undefined),
  );

/** What a schema says of names and types is so only at the root. */
const isOfWhole = ({ before, after }: Change): boolean =>
  [before, after].flatMap(schemasOf).some((schema) => {
    const isNamed = ['kind', 'metadata'].some((name) => schema.properties?.[name] !== undefined);
    return isNamed || (schema['x-kubernetes-validations'] ?? []).some(({ rule }) => rule.includes('metadata'));
  });

function merged(batch: readonly Change[]): Change {
  const [{ before, after }] = batch as readonly [Change, ...Change[]];
  const schemas = (side: 'before' | 'after') => (version: string) => ({
    type: 'object',
    properties: Object.fromEntries(batch.map((change, index) => [fieldOf(index), schemaOf(change[side], version)])),
  });
  const flat = <Each>(of: (change: Change) => readonly Each[] | undefined): (Each | undefined)[] =>
    batch.flatMap((change) => change.objects.map((_, place) => of(change)?.[place]));
  return {
    before: withSchemas(before, schemas('before')),
    after: withSchemas(after, schemas('after')),
    objects: batch.flatMap(({ objects }, index) =>
      objects.map(({ apiVersion, kind, metadata, ...content }, place) => ({
        ...{ apiVersion, kind, metadata: { name: `${fieldOf(index)}-${place}` } },
        [fieldOf(index)]: content,
      })),
    ),
    through: flat(({ through }) => through),
    later: flat(({ later }) => later).map((each) => each === true),
    updates: batch.flatMap(({ objects, updates }, index) =>
      objects.map((_, place) => {
        const update = updates?.[place];
        if (update === undefined) return undefined;
        const { apiVersion: _version, kind: _kind, metadata: _metadata, ...content } = update;
        return { [fieldOf(index)]: content };
      }),
    ),
  };
}

function apart(batch: readonly Change[], seen: readonly Seen[]): Outcome[] {
  let taken = 0;
  return batch.map(({ objects }, index) => {
    const own = seen.slice(taken, taken + objects.length);
    taken += objects.length;
    const inner = (differences: readonly Difference[]): Difference[] =>
      differences.map((each) => ({ ...each, path: each.path.slice(fieldOf(index).length + 1) }));
    return {
      requests: [],
      seen: own.map((each, place) => ({
        ...each,
        object: objects[place] as Json,
        read: inner(each.read),
        updated: inner(each.updated),
        applied: inner(each.applied),
        ...(each.passed === undefined ? {} : { passed: { ...each.passed, lost: inner(each.passed.lost) } }),
      })),
    };
  });
}
