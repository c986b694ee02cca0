/** Temporary files for child processes, and their cleanup. */
export { scratchFolder, sweptOnce, withWorkspace } from './folders.ts';
export { currentRunner, hasExited } from './runner.ts';
