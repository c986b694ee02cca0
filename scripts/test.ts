/**
 * Runs the tests and ends with `N passed, N failed` alone on a line. With no argument: everything, with coverage and its
 * gate. Arguments are vitest's own (`npm test -- src/runtime`, `npm test -- --project unit -t workqueue`). Where the control plane cannot
 * be had, the tests that need none are run all the same.
 */
import { parseCLI, startVitest } from 'vitest/node';
import { ensureAssets, ensureKafka, renderProgress } from '../src/controlplane/index.ts';
import { oracleFolder } from '../test/support/cel-oracle.ts';
import { leaveNothingBehind } from './leave-nothing.ts';
import { failedBesides, formatTally, tally } from './tally.ts';

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const everything = process.argv.length === 2;
const inContinuousIntegration = process.env.CI === 'true' || process.env.CI === '1';
const projects = [options.project ?? ['unit', 'integration']].flat();

await leaveNothingBehind();
const missing = projects.includes('integration') ? await missingPrograms() : { withoutServers: false, sentences: [] };
const { withoutServers } = missing;
const project = withoutServers ? projects.filter((name) => name !== 'integration') : options.project;
const nothingLeft = withoutServers && project?.length === 0;

const vitest = nothingLeft
  ? undefined
  : await startVitest(filter, {
      ...options,
      ...(project === undefined ? {} : { project }),
      watch: false,
      run: true,
      // Half of the tests cover too little.
      ...(everything && !withoutServers ? { coverage: { ...options.coverage, enabled: true } } : {}),
    });
await vitest?.close();

const modules = vitest?.state.getTestModules() ?? [];
const unhandled = vitest?.state.getUnhandledErrors() ?? [];
const besides = [...missing.sentences];
if (besides.length === 0) {
  const { exitCode } = process;
  besides.push(
    ...failedBesides(tally(modules, unhandled, false), {
      exitCode,
      coverage: vitest?.config.coverage.enabled ?? false,
    }),
  );
}
const result = tally(modules, unhandled, inContinuousIntegration, besides);
for (const line of formatTally(result)) process.stdout.write(`${line}\n`);
// A test that left a handle open must not keep the run from ending.
process.exit(result.failed > 0 ? 1 : 0);

/**
 * What tests need is built before the runner starts, so that the progress is seen and no test waits for it. Returns what could not be
 * had, and why. Without the control plane no integration test can run; without one of the others those that need it fail.
 */
async function missingPrograms(): Promise<{ withoutServers: boolean; sentences: readonly string[] }> {
  const onProgress = renderProgress(process.stderr);
  try {
    await ensureAssets(['kubernetes', 'etcd', 'kwok'], { onProgress });
  } catch (error) {
    return { withoutServers: true, sentences: [told(`the integration tests cannot run: ${sentence(error)}`)] };
  }
  const sentences = new Set<string>();
  for (const ensure of [
    () => ensureAssets(['source-controller', 'kustomize-controller', 'helm'], { onProgress }),
    () => ensureKafka({ onProgress }),
    () => oracleFolder(onProgress),
  ]) {
    try {
      await ensure();
    } catch (error) {
      sentences.add(told(`some integration tests cannot run: ${sentence(error)}`));
    }
  }
  return { withoutServers: false, sentences: [...sentences] };
}

function told(what: string): string {
  process.stderr.write(`kidp: ${what}\n`);
  return what;
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
