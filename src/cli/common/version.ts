import { readFileSync } from 'node:fs';

/** `version` reads the version of this package from its package.json. */
export function version(): string {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version;
}
