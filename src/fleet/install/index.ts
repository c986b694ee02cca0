/** Installs, restores and removes Helm releases, and switches between blue-green sides. */
export { openInstaller } from './installer.ts';
export { openSwitcher } from './switcher.ts';
