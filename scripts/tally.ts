/** Counts what the test runner reports. A skipped test is printed by name, and in CI it is a failure (style: no silent skip). */

/** The part of vitest's TestModule that is counted. */
export interface ReportedModule {
  readonly moduleId: string;
  readonly children: {
    allTests(): Iterable<{ readonly fullName: string; result(): { readonly state: string } }>;
  };
  errors(): readonly unknown[];
}

export interface Tally {
  passed: number;
  failed: number;
  skipped: string[];
  /** Failures that no test stands for, a sentence each: they are counted too. */
  besides: readonly string[];
}

export function tally(
  modules: Iterable<ReportedModule>,
  unhandled: readonly unknown[],
  skipIsFailure: boolean,
  besides: readonly string[] = [],
): Tally {
  const result: Tally = { passed: 0, failed: unhandled.length + besides.length, skipped: [], besides };
  for (const module of modules) {
    // A file that could not be loaded, or whose hooks failed, has tests that never ran.
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

/** What the runner counts as a failure (its exit code) though no test has failed. */
export function failedBesides(
  { passed, failed, skipped }: Tally,
  { exitCode, coverage }: { readonly exitCode: unknown; readonly coverage: boolean },
): string[] {
  if (failed > 0) return [];
  if (passed === 0) return [skipped.length > 0 ? 'every test was skipped' : 'no test was run'];
  if (!exitCode) return [];
  return [
    coverage ? 'less is covered than the gate wants (see "ERROR: Coverage for …" above)' : `exit code ${exitCode}`,
  ];
}

export function formatTally(result: Tally): string[] {
  const skipped = result.skipped.map((name) => `skipped: ${name}`);
  const besides = result.besides.map((sentence) => `failed: ${sentence}`);
  return [...skipped, ...besides, `${result.passed} passed, ${result.failed} failed`];
}
