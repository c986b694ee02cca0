/** Summary of a test run. A skipped test is printed by name, and in CI it counts as a failure: no test is skipped silently. */

/** The part of vitest's TestModule that is counted. */
export interface ReportedModule {
  readonly moduleId: string;
  readonly children: {
    allTests(): Iterable<{ readonly fullName: string; result(): { readonly state: string } }>;
  };
  errors(): readonly unknown[];
}

export interface TestSummary {
  passed: number;
  failed: number;
  skipped: string[];
  /** Failures that belong to no test, one sentence each. They are included in `failed`. */
  otherFailures: readonly string[];
}

/** `summarize` counts the tests of a run. */
export function summarize(
  modules: Iterable<ReportedModule>,
  unhandled: readonly unknown[],
  skipIsFailure: boolean,
  otherFailures: readonly string[] = [],
): TestSummary {
  const result: TestSummary = {
    passed: 0,
    failed: unhandled.length + otherFailures.length,
    skipped: [],
    otherFailures,
  };
  for (const module of modules) {
    // A file that failed to load, or whose hooks failed, has tests that never ran.
    if (module.errors().length > 0) result.failed += 1;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') result.passed += 1;
      else if (state === 'failed') result.failed += 1;
      else result.skipped.push(`${module.moduleId} > ${test.fullName} (${state})`);
    }
  }
  if (skipIsFailure) result.failed += result.skipped.length;
  return result;
}

/** `failuresWithoutTest` lists what the runner counts as a failure (by its exit code) although no test failed. */
export function failuresWithoutTest(
  { passed, failed, skipped }: TestSummary,
  { exitCode, coverage }: { readonly exitCode: unknown; readonly coverage: boolean },
): string[] {
  if (failed > 0) return [];
  if (passed === 0) return [skipped.length > 0 ? 'every test was skipped' : 'no test was run'];
  if (!exitCode) return [];
  return [coverage ? 'coverage is below the threshold (see "ERROR: Coverage for …" above)' : `exit code ${exitCode}`];
}

/** `formatSummary` returns the lines to print; the last one has the counts. */
export function formatSummary(result: TestSummary): string[] {
  const skipped = result.skipped.map((name) => `skipped: ${name}`);
  const otherFailures = result.otherFailures.map((sentence) => `failed: ${sentence}`);
  return [...skipped, ...otherFailures, `${result.passed} passed, ${result.failed} failed`];
}
