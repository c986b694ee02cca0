/** What is put on clusters with Helm, taken back, and switched between two sides. */
export { openInstaller } from './installer.ts';
export { openSwitcher } from './switcher.ts';
