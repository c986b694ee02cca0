/** What is put on a disk for programs, by whom, and that it does not stay there. */
export { scratchFolder, swept, withWorkspace } from './folders.ts';
export { isGone, ourselves } from './runner.ts';
