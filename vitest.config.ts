import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They start the most servers. Without results of an earlier run the order is by size, and some of these are a few lines. */
const heaviest = [
  'chaos/chaos',
  'rollout-e2e/rollouts',
  'dispatch/http',
  'dispatch/kafka',
  'cli/up',
  'admission/replicas',
  'runtime/certificates',
].map((name) => `/test/${name}.test.ts`);

/** What takes longest begins early, so that no worker is left alone with it, and not all at once; otherwise the order is vitest's own. */
class HeaviestEarly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isHeavy = ({ moduleId }: TestSpecification) => heaviest.some((name) => moduleId.endsWith(name));
    const others = sorted.filter((each) => !isHeavy(each));
    const early = sorted.filter(isHeavy).flatMap((each) => [each, ...others.splice(0, 8)]);
    return [...early, ...others];
  }
}

// A machine that runs all of this has memory for it: API servers and etcds that collect half as often take less of its CPU.
process.env.GOGC ??= '400';

// Two projects: what runs alone (beside its file, in src/) and what needs the real servers (in test/).
export default defineConfig({
  test: {
    // Most of a test's time is spent waiting for servers; by default two cores would get one worker.
    maxWorkers: Math.max(5, availableParallelism() - 1),
    // A worker goes on with the next file: what it has imported and compiled serves 300 files. Modules keep nothing but caches.
    isolate: false,
    sequence: { sequencer: HeaviestEarly },
    // Programs of ours that tests start read their source as it was compiled the first time, also in the next run.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'compiled') },
    setupFiles: ['test/support/seed.ts'],
    // Only to end what hangs: a loaded machine may take many times as long as a quiet one. Several waits of a test fit into its limit,
    // so that the wait fails, which knows what it waits for, and not the test.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000, interval: 100 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'scripts/**/*.test.ts', 'test/conventions/*.test.ts', 'test/support/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: ['test/conventions/**', 'test/support/**'],
          globalSetup: ['test/global-setup.ts'],
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.test.ts'],
      reporter: ['text-summary', 'json-summary', 'lcov'],
      thresholds: { lines: 85, statements: 85, functions: 85, branches: 85 },
    },
  },
});
