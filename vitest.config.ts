import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The tests that start the most servers. Without results of an earlier run vitest orders by file size, and some of
 * these files are small.
 */
const heaviest = [
  'chaos/chaos',
  'rollout-e2e/rollouts',
  'dispatch/http',
  'dispatch/kafka',
  'cli/up',
  'admission/replicas',
  'runtime/certificates',
].map((name) => `/test/${name}.test.ts`);

/**
 * Starts the longest tests early, but not all at once, so that no worker ends with one alone; otherwise the order is
 * vitest's own.
 */
class HeaviestEarly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isHeavy = ({ moduleId }: TestSpecification) => heaviest.some((name) => moduleId.endsWith(name));
    const others = sorted.filter((each) => !isHeavy(each));
    const early = sorted.filter(isHeavy).flatMap((each) => [each, ...others.splice(0, 8)]);
    return [...early, ...others];
  }
}

// A machine that runs all tests has enough memory: API servers and etcds that collect garbage half as often take less
// CPU.
process.env.GOGC ??= '400';

/** Tests with a deadline that a requirement names. They run last, with nothing beside them. */
const alone = ['test/security/exhaustion.test.ts'];

/** The lanes of scripts/lanes.ts, which need more of a machine than other tests. */
const lanes = ['nodes', 'image', 'engines'];

// The projects: unit tests, beside their files in src/, integration tests with real servers, in test/, those of them that run alone, and
// each lane.
export default defineConfig({
  test: {
    // Most of a test's time is spent waiting for servers; by default two cores would get one worker.
    maxWorkers: Math.max(5, availableParallelism() - 1),
    // A worker is reused for the next file, so that imported and compiled modules serve all files. Modules keep only
    // caches.
    isolate: false,
    sequence: { sequencer: HeaviestEarly },
    // Child processes of tests reuse the compile cache, also in the next run.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'compiled') },
    setupFiles: ['test/support/seed.ts'],
    // Timeouts only end tests that hang, because a loaded machine can take many times as long as a quiet one. Several
    // waits fit into the limit of a test, so that the wait fails first, with a message about what it waited for.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000, interval: 100 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'scripts/**/*.test.ts',
            'test/conventions/*.test.ts',
            'test/fuzz/**/*.test.ts',
            'test/support/*.test.ts',
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/conventions/**',
            'test/fuzz/**',
            'test/support/**',
            ...lanes.map((name) => `test/${name}/**`),
            ...alone,
          ],
          globalSetup: ['test/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: alone, sequence: { groupOrder: 1 }, maxWorkers: 1 },
      },
      ...lanes.map((name) => ({
        extends: true as const,
        test: { name, include: [`test/${name}/**/*.test.ts`], sequence: { groupOrder: 2 }, maxWorkers: 1 },
      })),
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
