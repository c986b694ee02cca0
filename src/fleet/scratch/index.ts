/** What is put on a disk for programs, by whom, and that it does not stay there. */
export { scratchFolder, sweptOnce, withWorkspace } from './folders.ts';
export { currentRunner, hasExited } from './runner.ts';
