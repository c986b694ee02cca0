/** What is put on clusters with Helm, taken back, and switched between two sides. */
export { type InstallerOptions, openInstaller } from './installer.ts';
export { openSwitcher, type SwitcherOptions } from './switcher.ts';
