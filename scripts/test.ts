/**
 * Runs the tests and prints `N passed, N failed` as its last line. Without arguments it runs everything, with coverage and its thresholds.
 * Arguments go to vitest (`npm test -- src/runtime`, `npm test -- --project unit -t workqueue`). If the control-plane binaries are
 * unavailable, it still runs the unit tests.
 */
import { parseCLI, startVitest } from 'vitest/node';
import { ensureAssets, ensureKafka, missingForNodes, renderProgress } from '../src/controlplane/index.ts';
import { oracleFolder } from '../test/support/cel-oracle.ts';
import { cleanUpOnExit } from './cleanup.ts';
import { failuresWithoutTest, formatSummary, summarize } from './test-summary.ts';

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const everything = process.argv.length === 2;
const inContinuousIntegration = process.env.CI === 'true' || process.env.CI === '1';
const noNodes = missingForNodes();
const projects = [
  options.project ?? ['unit', 'integration', 'alone', ...(noNodes.length === 0 ? ['nodes'] : [])],
].flat();

await cleanUpOnExit();
const missing = projects.includes('integration') ? await ensurePrograms() : { withoutServers: false, sentences: [] };
const { withoutServers } = missing;
const project = withoutServers ? projects.filter((name) => name !== 'integration' && name !== 'nodes') : projects;
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
if (everything && noNodes.length > 0) {
  process.stdout.write(
    `lane nodes not run: ${noNodes.join('; ')}. On Debian, as root: sh scripts/system-packages.sh\n`,
  );
}
for (const line of formatSummary(result)) process.stdout.write(`${line}\n`);
// A handle that a test left open must not keep the process alive.
process.exit(result.failed > 0 ? 1 : 0);

/**
 * `ensurePrograms` builds the programs that tests need before the runner starts, so that progress is visible and no test waits for it. It
 * returns what is unavailable, and why. Without the control-plane binaries no integration test runs; the tests that need another
 * missing program fail.
 */
async function ensurePrograms(): Promise<{ withoutServers: boolean; sentences: readonly string[] }> {
  const onProgress = renderProgress(process.stderr);
  try {
    await ensureAssets(['kubernetes', 'etcd', 'kwok'], { onProgress });
  } catch (error) {
    return { withoutServers: true, sentences: [report(`the integration tests cannot run: ${messageOf(error)}`)] };
  }
  const sentences = new Set<string>();
  for (const ensure of [
    () => ensureAssets(['source-controller', 'kustomize-controller', 'helm'], { onProgress }),
    () => ensureKafka({ onProgress }),
    () => oracleFolder(onProgress),
    ...(projects.includes('nodes') ? [() => ensureAssets(['kubelet', 'coredns', 'pause'], { onProgress })] : []),
  ]) {
    try {
      await ensure();
    } catch (error) {
      sentences.add(report(`some integration tests cannot run: ${messageOf(error)}`));
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
