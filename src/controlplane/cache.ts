/** The cache of built programs. Each recipe, set of flags and platform has its own folder. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Recipe } from './recipes.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
/** A processor architecture, as Node names it. */
export type Architecture = 'x64' | 'arm64';

/** `KIDP_CACHE`, or else the user's cache directory on this platform. */
export function cacheDirectory(environment: Environment, platform: NodeJS.Platform = process.platform): string {
  if (environment.KIDP_CACHE) return environment.KIDP_CACHE;
  if (environment.XDG_CACHE_HOME) return join(environment.XDG_CACHE_HOME, 'kidp');
  const home = environment.HOME || homedir();
  return platform === 'darwin' ? join(home, 'Library', 'Caches', 'kidp') : join(home, '.cache', 'kidp');
}

/** Returns a name such as `kubernetes-1.36.3-0a1b2c3d4e5f-linux-x64`. */
export function cacheKey(
  recipe: Recipe,
  sources: string,
  platform = process.platform,
  architecture: string = process.arch,
): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(sources).filter(isSource).sort()) {
    const content = readFileSync(join(sources, name));
    hash.update(`${name} ${content.length}\n`).update(content);
  }
  hash.update(JSON.stringify([buildFlags(recipe), recipe.package, recipe.output, recipe.programs, recipe.copies]));
  return `${recipe.asset}-${recipe.version}-${hash.digest('hex').slice(0, 12)}-${platform}-${architecture}`;
}

/** The flags of a reproducible build: no C compiler, no local paths, and exactly the modules of go.sum. */
export function buildFlags(recipe: Recipe): string[] {
  const variables = Object.entries(recipe.variables).map(([name, value]) => `-X ${name}=${value}`);
  return ['-mod=readonly', '-trimpath', '-ldflags', ['-s', '-w', ...variables].join(' ')];
}

function isSource(name: string): boolean {
  return name === 'go.mod' || name === 'go.sum' || name.endsWith('.go');
}
