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
  const alone = changes.filter(
    (change) => schemaOf(change.before) === undefined || !isOnlySchema(change) || isOfWhole(change),
  );
  const shared = changes.filter((change) => !alone.includes(change));
  // Only definitions that are the same but for their schema can stand in for each other.
  const alike = Object.values(Object.groupBy(shared, ({ before }) => JSON.stringify(withSchema(before, {}))));
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
  spec: { versions: readonly { schema?: { openAPIV3Schema?: CrdSchema }; subresources?: unknown }[] };
}

function schemaOf(definition: Json): CrdSchema | undefined {
  const { versions } = (definition as unknown as Definition).spec;
  const [only] = versions;
  // A status subresource is only one at the root.
  return versions.length === 1 && only?.subresources === undefined ? only?.schema?.openAPIV3Schema : undefined;
}

const fieldOf = (index: number): string => `p${index}`;

function withSchema(definition: Json, schema: CrdSchema): Json {
  const { spec } = definition as unknown as Definition;
  const versions = spec.versions.map((version) => ({ ...version, schema: { openAPIV3Schema: schema } }));
  return { ...definition, spec: { ...spec, versions } };
}

const isOnlySchema = ({ before, after, requests }: Change): boolean =>
  (requests ?? []).length === 0 &&
  schemaOf(after) !== undefined &&
  JSON.stringify(withSchema(before, {})) === JSON.stringify(withSchema(after, {}));

/** What a schema says of names and types is so only at the root. */
const isOfWhole = ({ before, after }: Change): boolean =>
  [before, after].map(schemaOf).some((schema) => {
    const isNamed = ['kind', 'metadata'].some((name) => schema?.properties?.[name] !== undefined);
    return isNamed || (schema?.['x-kubernetes-validations'] ?? []).some(({ rule }) => rule.includes('metadata'));
  });

function merged(batch: readonly Change[]): Change {
  const [{ before }] = batch as readonly [Change, ...Change[]];
  const schema = (side: 'before' | 'after'): CrdSchema => ({
    type: 'object',
    properties: Object.fromEntries(batch.map((change, index) => [fieldOf(index), schemaOf(change[side]) as CrdSchema])),
  });
  return {
    before: withSchema(before, schema('before')),
    after: withSchema(before, schema('after')),
    objects: batch.flatMap(({ objects }, index) =>
      objects.map(({ apiVersion, kind, metadata, ...content }, place) => ({
        ...{ apiVersion, kind, metadata: { name: `${fieldOf(index)}-${place}` } },
        [fieldOf(index)]: content,
      })),
    ),
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
      })),
    };
  });
}
