/** Stores snapshots for rollbacks, and definitions for comparing versions. */
export { type DefinitionStore, openDefinitionStore, openSnapshotStore } from './snapshots.ts';
export type { StoreOptions } from './store.ts';
