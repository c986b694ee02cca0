/** What is kept of charts: snapshots for the way back, and definitions for comparing versions. */
export { type DefinitionStore, openDefinitionStore, openSnapshotStore } from './snapshots.ts';
export type { StoreOptions } from './store.ts';
