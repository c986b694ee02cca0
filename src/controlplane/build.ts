/** Builds one Go recipe into its folder of the cache. */
import { existsSync } from 'node:fs';
import { copyFile, glob, mkdir, readFile, statfs, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Architecture, buildFlags, cacheKey, type Environment } from './cache.ts';
import { diskFull, go, requireGo } from './go.ts';
import { makeOnce, type Report } from './once.ts';
import { countLines, isDownload, isPackage, type Progress } from './progress.ts';
import type { Recipe } from './recipes.ts';

interface BuildOptions {
  /** The folder of the recipe's Go module. */
  sources: string;
  /** The folder of all assets. */
  cache: string;
  environment: Environment;
  /** The default is that of this machine. */
  architecture?: Architecture | undefined;
  onlyCached?: boolean | undefined;
  onProgress: (progress: Progress) => void;
}

/** `build` returns the folder with the programs. */
export function build(recipe: Recipe, options: BuildOptions): Promise<string> {
  const { asset, version } = recipe;
  const { cache, onProgress, sources: directory, environment } = options;
  return makeOnce({
    asset,
    version,
    cache,
    onProgress,
    onlyCached: options.onlyCached,
    key: cacheKey(recipe, directory, process.platform, options.architecture),
    async make({ finished, temporary }, report) {
      await requireGo({ directory, environment });
      if (await nothingCached(options)) await requireSpace(recipe, options, 1);
      const packages = await listPackages(recipe, options, report);
      await requireSpace(recipe, options, 1 - packages.compiled / packages.total);
      report(packages.compiled === packages.total ? 'link' : 'compile', packages.compiled, packages.total);
      const onPackage = countLines(isPackage, (count, line) => {
        const done = Math.min(packages.compiled + count, packages.total);
        report(line === packages.main ? 'link' : 'compile', done, packages.total);
      });
      const flags = ['build', ...buildFlags(recipe), '-v', '-o', join(finished, recipe.output), recipe.package];
      await go(flags, { ...target(options), temporary, onError: onPackage });
      for (const program of recipe.programs) {
        if (program !== recipe.output) await symlink(recipe.output, join(finished, program));
      }
      await copyFiles(recipe, options, finished);
    },
  });
}

const target = ({ sources: directory, environment, architecture }: BuildOptions) => ({
  directory,
  environment,
  ...(architecture === undefined ? {} : { architecture }),
});

/**
 * Downloads the modules of a build and counts its packages. A package in Go's build cache is not compiled again, so
 * that an interrupted build continues where it stopped.
 */
async function listPackages(recipe: Recipe, options: BuildOptions, report: Report) {
  const { sources: directory } = options;
  const modules = (await readFile(join(directory, 'go.mod'), 'utf8')).match(/^\t?(require )?\S+ v\S+/gm)?.length ?? 0;
  const onDownload = countLines(isDownload, (count) => report('download', Math.min(count, modules), modules));
  const format = '{{.ImportPath}} {{.Stale}} {{.StaleReason}}';
  const listed = await go(['list', '-deps', ...buildFlags(recipe), '-f', format, recipe.package], {
    ...target(options),
    onError: onDownload,
  });
  const packages = listed.trim().split('\n');
  const stale = packages.filter((line) => / true /.test(line) && !/available in build cache/.test(line)).length;
  return { total: packages.length, compiled: packages.length - stale, main: packages.at(-1)?.split(' ')[0] };
}

async function copyFiles(recipe: Recipe, options: BuildOptions, finished: string): Promise<void> {
  if (recipe.copies === undefined) return;
  const { module, files, into } = recipe.copies;
  const { environment, sources: directory } = options;
  const root = (await go(['list', '-m', '-mod=readonly', '-f', '{{.Dir}}', module], { directory, environment })).trim();
  await mkdir(join(finished, into));
  for await (const file of glob([...files], { cwd: root })) {
    // The module cache is read-only; the mode is not copied, so that the cache can be removed.
    await copyFile(join(root, file), join(finished, into, basename(file)));
  }
}

async function nothingCached(options: BuildOptions): Promise<boolean> {
  const { buildCache, moduleCache } = await goCaches(options);
  return !existsSync(join(buildCache, 'README')) || !existsSync(join(moduleCache, 'cache', 'download'));
}

/** Fails early if the disk is obviously too small. `share` is the part of the build that remains. */
async function requireSpace(recipe: Recipe, options: BuildOptions, share: number): Promise<void> {
  const { buildCache, moduleCache } = await goCaches(options);
  const free = await Promise.all([buildCache, moduleCache, options.cache].map(freeGigabytes));
  const needed = recipe.gigabytes * share;
  if (Math.min(...free) >= needed) return;
  throw diskFull(
    `building ${recipe.asset} needs about ${needed.toFixed(1)} GB for Go modules and Go’s build cache and ${Math.min(...free).toFixed(1)} GB are free`,
  );
}

async function goCaches({ environment, sources }: BuildOptions): Promise<{ buildCache: string; moduleCache: string }> {
  const said = await go(['env', 'GOCACHE', 'GOMODCACHE'], { directory: sources, environment });
  const [buildCache = '', moduleCache = ''] = said.trim().split('\n');
  return { buildCache, moduleCache };
}

async function freeGigabytes(directory: string): Promise<number> {
  let existing = directory;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const { bavail, bsize } = await statfs(existing);
  return (bavail * bsize) / 1e9;
}
