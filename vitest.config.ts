import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Two projects: what runs alone (beside its file, in src/) and what needs the real servers (in test/).
export default defineConfig({
  test: {
    // Most of a test's time is spent waiting for servers; by default two cores would get one worker.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    setupFiles: ['test/support/seed.ts'],
    // Only to end what hangs: a loaded machine may take many times as long as a quiet one.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['src/**/*.test.ts', 'scripts/**/*.test.ts', 'test/house/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: ['test/house/**'],
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
