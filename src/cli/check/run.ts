/**
 * `kidp check`: what admission would decide about manifests, without a cluster. It asks the decision functions of the webhook, so
 * that the two cannot differ.
 *
 * Exit codes: 0 clean, 1 violations, 2 bad input.
 */
import { type Json, type PolicySet, policySet } from '../../policy/index.ts';
import { InputError } from '../common/failure.ts';
import { checkOutBase } from '../common/git.ts';
import { version } from '../common/manifest.ts';
import { noProgress, type Progress, progressOn } from '../common/progress.ts';
import type { Streams } from '../common/streams.ts';
import {
  describeProblem,
  inputErrorOf,
  type LocatedObject,
  type Problem,
  readManifests,
  readObjects,
} from '../documents/index.ts';
import type { Cluster } from './cluster.ts';
import { schemasOf } from './defaults.ts';
import { type Bench, judge } from './evaluate.ts';
import { concernsGates, openGates } from './gates.ts';
import { type Inventory, judgesOthers, takeInventory } from './inventory.ts';
import { type CheckOptions, type Settings, settingsOf } from './options.ts';
import { format, includesPasses, includesProblems } from './output/format.ts';
import { pluralsOf } from './plurals.ts';
import { type CheckResult, fails, identityOf, isFinding } from './result.ts';
import { worldOf } from './world.ts';

/** The exit code. Bad input is thrown, unless the format has a place for it. */
export async function check(options: CheckOptions, streams: Streams): Promise<number> {
  const settings = settingsOf(options);
  const progress = settings.quiet ? noProgress : progressOn(streams.err);
  const { objects, problems } = await readManifests(options.filename, streams.in, ({ file }) =>
    progress.step(() => `reading ${file}`),
  );
  if (objects.length === 0 && problems.length === 0) {
    throw new InputError('nothing', `${options.filename.join(', ')}: no Kubernetes object found.`);
  }
  const inventory = takeInventory(objects, exceptionsFrom(options));
  const wrong = [...problems, ...inventory.problems];
  const report = {
    objects: objects.filter((located) => !judgesOthers(located)).length,
    quiet: settings.quiet,
    failOn: settings.failOn,
    version: version(),
  };
  if (wrong.length > 0) {
    progress.end();
    if (!includesProblems(settings.output)) throw inputErrorOf(wrong);
    streams.err.write(`${wrong.map(describeProblem).join('\n')}\n`);
    streams.out.write(await format({ ...report, results: [], problems: wrong, colour: false }, settings.output));
    return 2;
  }
  if (!settings.quiet) warn(inventory.warnings, streams);
  const judged = await judgeAll({ options, settings, progress, streams, inventory, objects });
  progress.end();
  const colour = streams.out.isTTY === true && process.env.NO_COLOR === undefined;
  const base = options.base === undefined ? {} : { base: options.base };
  streams.out.write(await format({ ...report, ...base, results: judged, problems: [], colour }, settings.output));
  return judged.some((result) => fails(result, settings.failOn)) ? 1 : 0;
}

interface Question {
  readonly options: CheckOptions;
  readonly settings: Settings;
  readonly progress: Progress;
  readonly streams: Streams;
  readonly inventory: Inventory;
  readonly objects: readonly LocatedObject[];
}

async function judgeAll(question: Question): Promise<CheckResult[]> {
  const { options, inventory, objects, streams } = question;
  const { kubeconfig, serverDryRun } = options;
  if (kubeconfig === undefined && serverDryRun !== true) return judgeWith(question, undefined);
  const { withCluster } = await import('./cluster.ts');
  return withCluster(kubeconfig, async (cluster) => {
    if (serverDryRun === true) {
      const { askServer } = await import('./server.ts');
      return askServer(objects, cluster, question.progress);
    }
    await cluster.read(inventory.set, objects);
    for (const note of cluster.notes) streams.err.write(`${note}\n`);
    return judgeWith(question, cluster);
  });
}

async function judgeWith(question: Question, cluster: Cluster | undefined): Promise<CheckResult[]> {
  const { options, settings, streams, progress } = question;
  const params = (await readObjects(options.params ?? [], streams.in)).map(({ object }) => object);
  const before = options.old === undefined ? cluster?.before : byIdentity(await readObjects(options.old, streams.in));
  const benchFor = (set: PolicySet, objects: readonly LocatedObject[], passes: boolean) =>
    openBench({ set, settings, objects, params, passes, cluster, ...(before === undefined ? {} : { before }) });
  const passes = includesPasses(settings.output) && !settings.quiet;
  const bench = await benchFor(question.inventory.set, question.objects, passes);
  const results = await judgeEach(question.objects, bench, progress);
  if (options.base === undefined || !results.some(isFinding)) return results;
  const known = await knownAt(question, (set, objects) => benchFor(set, objects, false));
  return results.map((result) => (isFinding(result) && known.has(keyOf(result)) ? { ...result, known: true } : result));
}

async function judgeEach(objects: readonly LocatedObject[], bench: Bench, progress: Progress): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const [index, located] of objects.entries()) {
    progress.step(() => `judged ${index} of ${objects.length} objects`);
    for (const result of await judge(located, bench)) results.push(result);
  }
  return results;
}

/**
 * What was wrong at the base revision already: its objects, exceptions, namespaces and params, by the policies of today. A policy
 * that is new or stricter fails nobody for what was there before it.
 */
async function knownAt(
  { options, inventory, progress, streams }: Question,
  benchFor: (set: PolicySet, objects: readonly LocatedObject[]) => Promise<Bench>,
): Promise<ReadonlySet<string>> {
  const files = checkOutBase(options.base ?? '', options.filename);
  try {
    // What could not be read then is no known violation.
    const { objects } = await readManifests(files.paths, streams.in);
    const { exceptions } = takeInventory(objects);
    const set = policySet({ policies: inventory.policies, exceptions, ...exceptionsFrom(options) });
    const results = await judgeEach(objects, await benchFor(set, objects), progress);
    return new Set(results.filter(isFinding).map(keyOf));
  } finally {
    files.remove();
  }
}

const keyOf = ({ policy, binding, rule, resource }: CheckResult): string =>
  JSON.stringify([policy, binding, rule, identityOf({ ...resource, metadata: resource })]);

interface BenchInput {
  readonly set: PolicySet;
  readonly settings: Settings;
  readonly objects: readonly LocatedObject[];
  readonly params: readonly Json[];
  readonly passes: boolean;
  readonly cluster: Cluster | undefined;
  readonly before?: ReadonlyMap<string, Json>;
}

async function openBench(input: BenchInput): Promise<Bench> {
  const { settings, objects, params, cluster, before, passes } = input;
  const all = objects.map(({ object }) => object);
  const world = worldOf({
    now: settings.now,
    namespaceLabels: settings.namespaceLabels,
    objects: [...params, ...all],
    ...(cluster === undefined ? {} : { live: cluster.live }),
  });
  const ask = settings.user === undefined ? undefined : cluster?.askFor(settings.user);
  return {
    set: input.set,
    world,
    settings,
    plurals: new Map([...(cluster?.plurals ?? []), ...pluralsOf(all)]),
    schemas: schemasOf(all),
    passes,
    ...(before === undefined ? {} : { before }),
    ...(concernsGates(all, input.set) ? { platform: await openGates(world, input.set) } : {}),
    ...(ask === undefined ? {} : { ask }),
  };
}

const byIdentity = (objects: readonly LocatedObject[]): Map<string, Json> =>
  new Map(objects.map(({ object }) => [identityOf(object), object]));

function exceptionsFrom({ exceptionNamespace }: CheckOptions) {
  return exceptionNamespace === undefined ? {} : { exceptionNamespaces: exceptionNamespace };
}

function warn(warnings: readonly Problem[], streams: Streams): void {
  for (const warning of warnings) streams.err.write(`warning: ${describeProblem(warning)}\n`);
}
