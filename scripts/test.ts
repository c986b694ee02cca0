/**
 * Runs the tests and ends with `N passed, N failed` alone on a line. With no argument: everything, with coverage and its
 * gate. Arguments are vitest's own (`npm test -- src/runtime`, `npm test -- --project unit -t workqueue`).
 */
import { parseCLI, startVitest } from 'vitest/node';
import { ensureAssets, ensureKafka, renderProgress } from '../src/controlplane/index.ts';
import { oracleFolder } from '../test/support/cel-oracle.ts';
import { formatTally, tally } from './tally.ts';

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const everything = process.argv.length === 2;
const inContinuousIntegration = process.env.CI === 'true' || process.env.CI === '1';

// The control plane, Flux, Helm and the CEL oracle are built before the runner starts, so that their progress is seen and no test waits
// for them.
if (options.project === undefined || [options.project].flat().includes('integration')) {
  try {
    const onProgress = renderProgress(process.stderr);
    const programs = ['kubernetes', 'etcd', 'kwok', 'source-controller', 'kustomize-controller', 'helm'] as const;
    await ensureAssets(programs, { onProgress });
    await ensureKafka({ onProgress });
    await oracleFolder(onProgress);
  } catch (error) {
    process.stderr.write(`kidp: ${error instanceof Error ? error.message : String(error)}\n`);
    process.stdout.write('0 passed, 1 failed\n');
    process.exit(1);
  }
}

const vitest = await startVitest(filter, {
  ...options,
  watch: false,
  run: true,
  ...(everything ? { coverage: { ...options.coverage, enabled: true } } : {}),
});
await vitest.close();

const result = tally(vitest.state.getTestModules(), vitest.state.getUnhandledErrors(), inContinuousIntegration);
for (const line of formatTally(result)) process.stdout.write(`${line}\n`);
if (result.failed > 0 || result.passed === 0) process.exitCode = 1;
// A test that left a handle open must not keep the run from ending.
process.exit(process.exitCode ?? 0);
