/**
 * `kidp impact`: reports which existing objects, in files or in a cluster, policies would deny before they are applied.
 *
 * Exit codes: 0 success, whatever the result; 2 bad input.
 */
import { decide, storedRequest, type World } from '../../policy/index.ts';
import { storedTypes } from '../../policy/internal.ts';
import { schemasOf, withDefaults } from '../check/defaults.ts';
import { type Inventory, judgesOthers, takeInventory } from '../check/inventory.ts';
import { settingsOf } from '../check/options.ts';
import { kindOf, pluralsOf } from '../check/plurals.ts';
import { worldOf } from '../check/world.ts';
import { InputError } from '../common/failure.ts';
import { noProgress, type Progress, progressOn } from '../common/progress.ts';
import type { Streams } from '../common/streams.ts';
import { inputErrorOf, type LocatedObject, readManifests, readObjects } from '../documents/index.ts';
import { impactText } from './render.ts';
import { type Impact, Tally } from './tally.ts';

export interface ImpactOptions {
  filename: string[];
  kubeconfig?: string;
  params?: string[];
  namespaceLabels?: string[];
  exceptionNamespace?: string[];
  now?: string;
  first?: number;
  /** Seconds. */
  for?: number;
  output?: string;
  quiet?: boolean;
}

export async function impact(options: ImpactOptions, streams: Streams): Promise<number> {
  const { output, now, namespaceLabels } = settingsOf(options);
  if (output !== 'text' && output !== 'json') {
    throw new InputError('option', `--output "${output}" is unknown: want text or json.`);
  }
  const began = performance.now();
  const progress = options.quiet === true ? noProgress : progressOn(streams.err);
  const { objects, problems } = await readManifests(options.filename, streams.in);
  const { exceptionNamespace } = options;
  const inventory = takeInventory(
    objects,
    exceptionNamespace === undefined ? {} : { exceptionNamespaces: exceptionNamespace },
  );
  const wrong = [...problems, ...inventory.problems];
  if (wrong.length > 0) throw inputErrorOf(wrong);
  if (inventory.policies.length === 0) {
    throw new InputError('no-policy', `${options.filename.join(', ')}: no policy found: add one with -f.`);
  }
  const params = (await readObjects(options.params ?? [], streams.in)).map(({ object }) => object);
  const world = (live?: ReadonlyMap<string, readonly Record<string, unknown>[]>) =>
    worldOf({
      now,
      namespaceLabels,
      objects: [...params, ...objects.map(({ object }) => object)],
      ...(live === undefined ? {} : { live }),
    });
  const tally = new Tally(options.first ?? 5);
  const counted =
    options.kubeconfig === undefined
      ? countFiles(objects, inventory, world(), tally, progress)
      : await countCluster(options, inventory, world, tally, progress);
  progress.end();
  const { matched, denied, warned } = tally;
  const seconds = Math.round(performance.now() - began) / 1000;
  const answer: Impact = { objects: tally.objects, matched, denied, warned, rules: tally.rules(), ...counted, seconds };
  streams.out.write(output === 'json' ? `${JSON.stringify(answer, null, 2)}\n` : impactText(answer));
  return 0;
}

type Counted = Pick<Impact, 'missing' | 'complete'>;

function countFiles(
  objects: readonly LocatedObject[],
  { set }: Inventory,
  world: World,
  tally: Tally,
  progress: Progress,
): Counted {
  const subjects = objects.filter((located) => !judgesOthers(located));
  if (subjects.length === 0) {
    throw new InputError('nothing', 'only policies found: add manifests with -f, or a cluster with --kubeconfig.');
  }
  const all = objects.map(({ object }) => object);
  const [plurals, schemas] = [new Map(pluralsOf(all)), schemasOf(all)];
  for (const located of subjects) {
    progress.step(() => `judged ${tally.objects} of ${subjects.length} objects`);
    const { object, file } = located;
    const type = { ...kindOf(object, plurals), namespaced: object.metadata.namespace !== undefined };
    const { apiVersion, kind, metadata } = object;
    tally.count(decide(set, storedRequest(withDefaults(object, schemas), type), world), () => ({
      apiVersion,
      kind,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      name: metadata.name,
      file,
      line: located.line,
    }));
  }
  return { missing: [], complete: true };
}

async function countCluster(
  options: ImpactOptions,
  { set, policies }: Inventory,
  worldWith: (live: ReadonlyMap<string, readonly Record<string, unknown>[]>) => World,
  tally: Tally,
  progress: Progress,
): Promise<Counted> {
  const { withCluster } = await import('../check/cluster.ts');
  const deadline = performance.now() + (options.for ?? Number.POSITIVE_INFINITY) * 1000;
  return withCluster(options.kubeconfig, async (cluster) => {
    await cluster.read(set, []);
    const world = worldWith(cluster.live);
    const listable = cluster.mapping.resources.filter(({ verbs }) => verbs.includes('list'));
    const types = new Set(policies.flatMap(({ model }) => storedTypes(model, listable)));
    const missing = [...cluster.notes];
    for (const type of types) {
      try {
        for await (const object of cluster.list(type)) {
          if (performance.now() > deadline) return { missing, complete: false };
          progress.step(() => `judged ${tally.objects} objects, now ${type.plural}`);
          const { apiVersion, kind, metadata } = object;
          const { name, namespace } = metadata;
          tally.count(decide(set, storedRequest(object, type), world), () => ({
            apiVersion,
            kind,
            ...(namespace === undefined ? {} : { namespace }),
            name,
          }));
        }
      } catch (error) {
        missing.push(`${type.plural} (${error instanceof Error ? error.message : String(error)})`);
      }
    }
    return { missing, complete: true };
  });
}
