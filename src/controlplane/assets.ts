/**
 * The control-plane binaries: taken from `KUBEBUILDER_ASSETS`, or from the cache, or built into it with the machine's
 * Go.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageFile } from '../runtime/internal.ts';
import { build } from './build.ts';
import { type Architecture, cacheDirectory, type Environment } from './cache.ts';
import { ControlPlaneError } from './errors.ts';
import type { Progress } from './progress.ts';
import { type KubernetesProgram, type Program, type Recipe, recipeFor, recipes } from './recipes.ts';

/** A program by its name, or `kubernetes` for all programs of Kubernetes. */
type Wanted = Program | 'kubernetes';
type ProgramsOf<W> = W extends 'kubernetes' ? KubernetesProgram : W;

export interface AssetOptions {
  onProgress?: (progress: Progress) => void;
  /**
   * Replaces the environment of this process: PATH, KUBEBUILDER_ASSETS, KIDP_CACHE and Go's variables are read from it.
   */
  environment?: Environment;
  /** Builds for another architecture than this machine's, which ignores KUBEBUILDER_ASSETS. */
  architecture?: Architecture;
  /** Builds nothing: fails if a program is not in the cache. */
  onlyCached?: boolean;
}

/** `ensureAssets` returns the path of each program, and builds missing ones, one recipe after the other. */
export async function ensureAssets<const W extends Wanted>(
  wanted: readonly W[],
  options: AssetOptions = {},
): Promise<Record<ProgramsOf<W>, string>> {
  const environment = options.environment ?? process.env;
  const { architecture, onlyCached } = options;
  const provided = architecture === undefined ? environment.KUBEBUILDER_ASSETS : undefined;
  const cache = join(cacheDirectory(environment), 'assets');
  const onProgress = options.onProgress ?? (() => undefined);
  const found: Record<string, string> = {};
  for (const name of wanted.flatMap(expand)) {
    const recipe = recipeFor(name);
    if (provided && holds(provided, name, recipe)) found[name] = join(provided, name);
    else {
      const sources = recipeFolder(recipe.sources ?? recipe.asset);
      const folder = await build(recipe, {
        sources,
        cache,
        environment,
        architecture,
        onlyCached,
        onProgress,
      }).catch((error: unknown) => {
        throw provided ? notProvided(provided, name, error) : error;
      });
      found[name] = join(folder, name);
    }
  }
  return found;
}

/** The KWOK stages that came with the given `kwok`. */
export function stagesBeside(kwok: string): string {
  return join(dirname(kwok), recipes.kwok.copies?.into ?? '');
}

/** The CRDs that came with a Flux controller. */
export function fluxCrdsBeside(controller: string): string {
  return join(dirname(controller), `${controller.slice(dirname(controller).length + 1)}-crds`);
}

function expand(wanted: Wanted): Program[] {
  return wanted === 'kubernetes' ? [...(recipes.kubernetes.programs as readonly Program[]), 'kubectl'] : [wanted];
}

function holds(directory: string, program: string, recipe: Recipe): boolean {
  const file = join(directory, program);
  const beside = recipe.copies === undefined || existsSync(join(directory, recipe.copies.into));
  return existsSync(file) && statSync(file).isFile() && beside;
}

/** In the package, the recipes stay in src while the code is in dist. */
export const recipeFolder = (asset: string): string => packageFile(`src/controlplane/recipes/${asset}`);

/** The user has chosen prebuilt programs, so the error first says which one is missing. */
function notProvided(directory: string, program: string, cause: unknown): unknown {
  if (!(cause instanceof ControlPlaneError)) return cause;
  if (cause.code !== 'assets/no-go' && cause.code !== 'assets/go-too-old') return cause;
  return new ControlPlaneError({
    code: 'assets/missing',
    message: `${program} is not in ${directory} (KUBEBUILDER_ASSETS) and cannot be built without Go`,
    hint: `Put it there${program === 'kwok' ? ' (with its stages in the folder kwok-stages)' : ''}, or install Go 1.26 or newer.`,
    cause,
  });
}
