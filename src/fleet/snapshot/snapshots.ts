/** The stores of snapshots and of the definitions of Operator versions. */
import type { UnknownObject } from '../../runtime/index.ts';
import type { SnapshotContent, SnapshotStore } from '../contract.ts';
import { ContentStore, type StoreOptions } from './store.ts';

export function openSnapshotStore(options: StoreOptions): SnapshotStore {
  const store = new ContentStore('snapshot', options);
  return {
    async put(content) {
      const ordered = inOrder(content);
      return { ...ordered, ...(await store.put(JSON.stringify(ordered))) };
    },
    async get(name) {
      const { text, digest } = await store.get(name);
      return { ...(JSON.parse(text) as SnapshotContent), name, digest };
    },
    retain: (names) => store.retain(names),
  };
}

/** The definitions that `status.versions[].definitionsRef` of an Operator refers to. */
export interface DefinitionStore {
  put(definitions: readonly UnknownObject[]): Promise<string>;
  /** Rejects with FleetError `snapshot/missing` or `snapshot/damaged`. */
  get(reference: string): Promise<readonly UnknownObject[]>;
  /** Deletes everything that is not named, except what was stored within the last hour. */
  retain(references: ReadonlySet<string>): Promise<void>;
}

export function openDefinitionStore(options: StoreOptions): DefinitionStore {
  const store = new ContentStore('definitions', options);
  return {
    put: async (definitions) => (await store.put(JSON.stringify(definitions))).name,
    get: async (reference) => JSON.parse((await store.get(reference)).text) as UnknownObject[],
    retain: (references) => store.retain(references),
  };
}

/** Only the known fields, always in the same order: the digest is computed over the text. */
const inOrder = (content: SnapshotContent): SnapshotContent => ({
  operator: content.operator,
  version: content.version,
  chartDigest: content.chartDigest,
  valuesDigest: content.valuesDigest,
  environment: content.environment,
  kubernetesVersion: content.kubernetesVersion,
  namespace: content.namespace,
  releaseName: content.releaseName,
  definitions: content.definitions,
  manifests: content.manifests,
});
