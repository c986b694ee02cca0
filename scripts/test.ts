/**
 * Runs the tests and prints `N passed, N failed` as its last line. Without arguments it runs everything, with coverage and its thresholds,
 * and the lanes that fit (scripts/lanes.ts). Arguments go to vitest (`npm test -- src/runtime`, `npm test -- --project unit -t workqueue`).
 * If the control-plane binaries are unavailable, it still runs the unit tests. `e2e LANE…` as arguments run these lanes, and all without
 * a name: there, what is missing is a failure.
 */
import { parseCLI, startVitest } from 'vitest/node';
import { ensureAssets, ensureKafka, renderProgress } from '../src/controlplane/index.ts';
import { oracleFolder } from '../test/support/cel-oracle.ts';
import { cleanUpOnExit } from './cleanup.ts';
import { type Lane, lanesNamed, lanesOfTests } from './lanes.ts';
import { failuresWithoutTest, formatSummary, summarize } from './test-summary.ts';

const [command, ...names] = process.argv.slice(2);
const endToEnd = command === 'e2e';
const { filter, options } = parseCLI(['vitest', 'run', ...(endToEnd ? [] : process.argv.slice(2))]);
const everything = command === undefined;
const inContinuousIntegration = process.env.CI === 'true' || process.env.CI === '1';

await cleanUpOnExit();
const { chosen, left } = await chooseLanes();
const laneNames = chosen.map(({ name }) => name);
const projects = endToEnd ? laneNames : [options.project ?? ['unit', 'integration', 'alone', ...laneNames]].flat();
const missing = await ensurePrograms();
const { withoutServers } = missing;
const project = withoutServers
  ? projects.filter((name) => name !== 'integration' && !laneNames.includes(name))
  : projects;
const nothingLeft = project.length === 0;

const vitest = nothingLeft
  ? undefined
  : await startVitest(filter, {
      ...options,
      project,
      watch: false,
      run: true,
      // Without the integration tests, coverage would always miss its thresholds.
      ...(everything && !withoutServers ? { coverage: { ...options.coverage, enabled: true } } : {}),
    });
await vitest?.close();

const modules = vitest?.state.getTestModules() ?? [];
const unhandled = vitest?.state.getUnhandledErrors() ?? [];
const otherFailures = [...missing.sentences];
if (otherFailures.length === 0) {
  const { exitCode } = process;
  otherFailures.push(
    ...failuresWithoutTest(summarize(modules, unhandled, false), {
      exitCode,
      coverage: vitest?.config.coverage.enabled ?? false,
    }),
  );
}
const result = summarize(modules, unhandled, inContinuousIntegration, otherFailures);
for (const sentence of left) process.stdout.write(`${sentence}\n`);
for (const line of formatSummary(result)) process.stdout.write(`${line}\n`);
// A handle that a test left open must not keep the process alive.
process.exit(result.failed > 0 ? 1 : 0);

/** Lanes that are asked for by name run whatever the machine lacks, so that they say it themselves. */
async function chooseLanes(): Promise<{ chosen: readonly Lane[]; left: readonly string[] }> {
  if (endToEnd) return { chosen: lanesNamed(names), left: [] };
  if (options.project !== undefined) return { chosen: lanesNamed([]).filter(isAskedFor), left: [] };
  const choice = await lanesOfTests();
  return everything ? choice : { ...choice, left: [] };
}

function isAskedFor({ name }: Lane): boolean {
  return [options.project].flat().includes(name);
}

/**
 * `ensurePrograms` builds the programs that tests need before the runner starts, so that progress is visible and no test waits for it. It
 * returns what is unavailable, and why. Without the control-plane binaries no integration test runs; the tests that need another
 * missing program fail.
 */
async function ensurePrograms(): Promise<{ withoutServers: boolean; sentences: readonly string[] }> {
  const onProgress = renderProgress(process.stderr);
  const integration = projects.includes('integration');
  if (integration) {
    try {
      await ensureAssets(['kubernetes', 'etcd', 'kwok'], { onProgress });
    } catch (error) {
      return { withoutServers: true, sentences: [report(`the integration tests cannot run: ${messageOf(error)}`)] };
    }
  }
  const sentences = new Set<string>();
  for (const ensure of [
    ...(integration
      ? [
          () => ensureAssets(['source-controller', 'kustomize-controller', 'helm'], { onProgress }),
          () => ensureKafka({ onProgress }),
          () => oracleFolder(onProgress),
        ]
      : []),
    ...chosen.map((lane) => () => lane.prepare(onProgress)),
  ]) {
    try {
      await ensure();
    } catch (error) {
      sentences.add(report(`some tests cannot run: ${messageOf(error)}`));
    }
  }
  return { withoutServers: false, sentences: [...sentences] };
}

function report(failure: string): string {
  process.stderr.write(`kidp: ${failure}\n`);
  return failure;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
