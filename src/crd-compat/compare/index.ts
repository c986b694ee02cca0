/** Compares two definitions: the changes of the definition itself, of each version, and between versions. */
import { same, tidy } from '../canonical.ts';
import type { Crd, CrdVersion } from '../crd.ts';
import { conversionStrategy, schemaOf, storageVersion } from '../crd.ts';
import { digestOfTidy } from '../digest.ts';
import type { CrdSchema } from '../schema.ts';
import { type Change, type Verdict, worst } from '../verdict.ts';
import { changesAcross, schemaAt } from './across.ts';
import { compareDefinitions } from './definition.ts';
import { BREAKING, type Draft, Notes, ROOT, SAFE } from './draft.ts';
import { pairOf } from './pair.ts';
import { compareSchemas } from './schema.ts';
import { addedVersion, compareVersion, removedVersion } from './versions.ts';
import { type Pair, requestOf, settle } from './witness.ts';

export interface CompareOptions {
  /**
   * The versions that objects can be stored in. The default is `status.storedVersions` of the old definition, or its storage version if it
   * has no status. An empty list means all versions.
   */
  readonly storedVersions?: readonly string[];
  /** Whether changes carry witnesses; the default is true. The classes are the same either way. */
  readonly witnesses?: boolean;
}

/**
 * `compareCrds` lists the changes between two definitions and their classes. Without `before` the definition is created, without `after` it
 * is deleted.
 *
 *     const definition = (spec) => ({
 *       apiVersion: 'apiextensions.k8s.io/v1',
 *       kind: 'CustomResourceDefinition',
 *       metadata: { name: 'widgets.example.com' },
 *       spec: {
 *         group: 'example.com',
 *         scope: 'Namespaced',
 *         names: { plural: 'widgets', kind: 'Widget' },
 *         versions: [
 *           {
 *             name: 'v1',
 *             served: true,
 *             storage: true,
 *             schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
 *           },
 *         ],
 *       },
 *     });
 *     const before = definition({ type: 'object', properties: { size: { type: 'integer' } } });
 *     const after = definition({ type: 'object', properties: { size: { type: 'integer', maximum: 10 } } });
 *     const { verdict, changes } = compareCrds(before, after);
 *     console.log(verdict, changes[0]?.path, changes[0]?.witness?.because); // breaking .spec.size .spec.size: 11 is more than the maximum 10
 */
export function compareCrds(before: Crd | undefined, after: Crd | undefined, options: CompareOptions = {}): Verdict {
  const name = (after ?? before)?.metadata.name ?? '';
  // The order of keys has no meaning and must not influence the witnesses or the output.
  const old = tidy(before);
  const now = tidy(after, old);
  const changes = old === undefined || now === undefined ? existence(old, now) : changesBetween(old, now, options);
  const shown = options.witnesses === false ? changes.map(({ witness: _, ...change }) => change) : changes;
  return {
    name,
    verdict: worst(changes.map((change) => change.class)),
    changes: shown,
    digest: digestOfTidy(old, now),
  };
}

function existence(before: Crd | undefined, after: Crd | undefined): Change[] {
  const notes = new Notes('');
  if (after !== undefined)
    notes.add('.', { kind: 'crd-created', after: after.metadata.name, ...SAFE, message: 'The definition is new.' });
  else if (before !== undefined) {
    notes.add('.', {
      kind: 'crd-deleted',
      before: before.metadata.name,
      ...BREAKING,
      message: 'The definition is deleted, and with it every object of its kind.',
      hits: 'every object and every manifest',
      witness: {
        outcome: 'request-fails',
        request: `GET /apis/${before.spec.group}/${storageVersion(before)?.name ?? ''}/${before.spec.names.plural}`,
        because: '404: there is no such resource, and its objects are deleted',
      },
    });
  }
  return settle(notes.drafts);
}

function changesBetween(before: Crd, after: Crd, options: CompareOptions): Change[] {
  const stored = storedVersionsOf(before, options);
  const found: Change[] = [...settle(compareDefinitions(before, after).drafts)];
  const settled: Settled[] = [];
  for (const name of versionNames(before, after)) {
    const old = before.spec.versions.find((version) => version.name === name);
    const now = after.spec.versions.find((version) => version.name === name);
    found.push(...versionChanges(before, after, old, now, stored, settled));
  }
  found.push(...changesAcross(before, after));
  return found;
}

/** No definition in a cluster has an empty list: it means that objects can be stored in any version. */
function storedVersionsOf(before: Crd, options: CompareOptions): readonly string[] {
  const said = options.storedVersions ?? before.status?.storedVersions;
  // The status is not validated like the spec.
  if (Array.isArray(said)) return said.length > 0 ? said : before.spec.versions.map(({ name }) => name);
  const version = storageVersion(before);
  return version === undefined ? [] : [version.name];
}

const versionNames = (before: Crd, after: Crd): string[] => [
  ...new Set([...after.spec.versions, ...before.spec.versions].map(({ name }) => name)),
];

function versionChanges(
  before: Crd,
  after: Crd,
  old: CrdVersion | undefined,
  now: CrdVersion | undefined,
  stored: readonly string[],
  settled: Settled[],
): Change[] {
  if (old === undefined) return now === undefined ? [] : settle(addedVersion(now).drafts);
  if (now === undefined) return settle(removedVersion(before, old, stored).drafts);
  const notes = new Notes(now.name);
  compareVersion(before, old, now, notes);
  const pair = pairOf(before, after, old, now);
  if (pair === undefined) {
    if (schemaOf(old) !== schemaOf(now)) compareSchemaPresence(schemaOf(now) !== undefined, notes);
    return settle(notes.drafts);
  }
  const storage = conversionStrategy(after) === 'None' ? storageVersion(after) : undefined;
  const fills = storage === undefined || storage === now ? undefined : schemaOf(storage);
  return [...settle(notes.drafts, pair), ...schemaChanges(pair, now, settled, reachOf(old, now, stored), fills)];
}

/**
 * Who a version's schema affects: clients that make requests in this version, only the objects stored in it, or nobody.
 */
type Reach = 'served' | 'stored' | 'nobody';

function reachOf(old: CrdVersion, now: CrdVersion, stored: readonly string[]): Reach {
  if (old.served && now.served) return 'served';
  return stored.includes(now.name) ? 'stored' : 'nobody';
}

/**
 * Nothing is validated in a version that is not served. Objects stored in it are still pruned and defaulted when they
 * are read.
 */
function within(draft: Draft, reach: Reach): Draft {
  if (reach === 'served') return draft;
  const reads = reach === 'stored' && draft.probe?.expect !== 'refused';
  if (reads)
    return {
      ...draft,
      manifests: 'safe',
      ...(draft.otherwise && { otherwise: { ...draft.otherwise, manifests: 'safe' } }),
    };
  const { probe: _, otherwise: _otherwise, ...rest } = draft;
  return { ...rest, ...SAFE };
}

/** The changes between the schemas of one version. */
interface Settled {
  readonly reach: Reach;
  readonly pair: Pair;
  readonly version: string;
  readonly changes: readonly Change[];
  /** The schema of the storage version, if it is another one that nothing converts to. */
  readonly fills: CrdSchema | undefined;
}

/** A default that was removed still applies if the storage version has it: objects are stored and read with it. */
function filled(draft: Draft, storage: CrdSchema | undefined): Draft {
  const { steps, absent } = draft.probe ?? { steps: [] };
  if (draft.kind !== 'default-removed' || absent === undefined || storage === undefined) return draft;
  const kept = schemaAt(storage, [...steps, absent])?.default;
  if (kept === undefined || !same(kept, draft.before)) return draft;
  const { probe: _, otherwise: _otherwise, ...rest } = draft;
  return { ...rest, ...SAFE };
}

/** Versions often share one schema: the changes of the first are reported for the others too. */
function schemaChanges(
  pair: Pair,
  version: CrdVersion,
  settled: Settled[],
  reach: Reach,
  fills: CrdSchema | undefined,
): Change[] {
  const twin = settled.find(
    (other) =>
      other.reach === reach &&
      same(other.pair.before, pair.before) &&
      same(other.pair.after, pair.after) &&
      other.pair.status === pair.status &&
      other.fills === fills,
  );
  if (twin !== undefined) return twin.changes.map((change) => inVersion(change, version.name, pair));
  const notes = new Notes(version.name);
  const place = { ...ROOT, status: pair.status };
  const { apiVersion, kind } = pair;
  compareSchemas(pair.before, pair.after, place, notes, { resource: true, type: { apiVersion, kind } });
  const changes = settle(
    notes.drafts.map((draft) => filled(within(draft, reach), fills)),
    pair,
  );
  settled.push({ reach, pair, version: version.name, changes, fills });
  return changes;
}

function inVersion(change: Change, version: string, pair: Pair): Change {
  const { witness } = change;
  if (witness === undefined) return { ...change, version };
  return {
    ...change,
    version,
    witness: {
      ...witness,
      ...(witness.object === undefined ? {} : { object: { ...witness.object, apiVersion: pair.apiVersion } }),
      ...(witness.request === undefined
        ? {}
        : { request: requestOf(pair, witness.object, witness.request.endsWith('/status')) }),
    },
  };
}

function compareSchemaPresence(added: boolean, notes: Notes): void {
  notes.add('.', {
    kind: added ? 'schema-added' : 'schema-removed',
    ...(added ? BREAKING : SAFE),
    message: added
      ? 'The version has a schema now: what it does not name is pruned, what it does not accept is refused.'
      : 'The version has no schema any more: nothing is checked.',
    ...(added
      ? {
          hits: 'objects with fields that the schema does not name',
          witness: {
            outcome: 'pruned' as const,
            because: 'an object with a field that the schema does not name is read without it',
          },
        }
      : {}),
  });
}
