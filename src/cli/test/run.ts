/**
 * `kidp test`: policies prove themselves, without a cluster. Their tests run through the decision that admission makes, their
 * expressions are checked against the schemas of what they match: the platform's, Kubernetes' own, and those of the definitions
 * among the files.
 */

import { API_VERSION } from '../../api/index.ts';
import {
  combineSchemas,
  crdSchemas,
  isNative,
  kubernetesSchemas,
  type PolicyIssue,
  platformSchemas,
  readPolicy,
  runPolicyTests,
  type SchemaSource,
  typeCheckPolicy,
} from '../../policy/index.ts';
import { InputError } from '../common/failure.ts';
import {
  describeProblem,
  inputErrorOf,
  type LocatedObject,
  type Problem,
  problemAt,
  readObjects,
} from '../documents/index.ts';
import { asJunit } from './junit.ts';
import { asText } from './render.ts';
import { errorsOf, failedTests, placed, reachesTooLittle, type TestedPolicy } from './tested.ts';

export interface TestOptions {
  readonly paths: string[];
  readonly output: 'text' | 'json' | 'junit';
  readonly coverage?: boolean;
  readonly minCoverage?: number;
}

export interface TestStreams {
  readonly in: NodeJS.ReadableStream;
  readonly out: { write(text: string): unknown };
  readonly err: { write(text: string): unknown };
}

/** Returns the exit code: 0 if all tests and checks pass, else 1. Bad input is thrown. */
export async function test(options: TestOptions, streams: TestStreams): Promise<number> {
  const objects = await readObjects(options.paths, streams.in);
  const policies = objects.filter(({ object }) => object.apiVersion === API_VERSION && object.kind === 'Policy');
  const untested = objects.filter(isNativePolicy);
  if (policies.length === 0) throw nothingToTest(options.paths, untested);
  for (const located of untested) streams.err.write(`note: ${describeProblem(noTests(located))}\n`);
  const schemas = combineSchemas(
    crdSchemas(objects.map(({ object }) => object)),
    platformSchemas(),
    kubernetesSchemas(),
  );
  const problems: Problem[] = [];
  const tested = policies.flatMap((located) => testOne(located, schemas, problems));
  if (problems.length > 0) throw inputErrorOf(problems);
  streams.out.write(written(tested, options));
  const { minCoverage } = options;
  const fails = (policy: TestedPolicy): boolean =>
    failedTests(policy).length > 0 || errorsOf(policy).length > 0 || reachesTooLittle(policy, minCoverage);
  return tested.some(fails) ? 1 : 0;
}

/** A policy of Kubernetes' own: its kind has no place for tests. */
const isNativePolicy = ({ object }: LocatedObject): boolean => isNative(object) && !object.kind.endsWith('Binding');

function noTests(located: LocatedObject): Problem {
  const { kind, metadata } = located.object;
  const message = `${kind} ${metadata.name} is not tested: only a Policy of ${API_VERSION} carries tests. kidp convert --to policy makes one of it, kidp check judges manifests by it as it is.`;
  return problemAt(located, 'no-tests', 'kind', message);
}

function nothingToTest(paths: readonly string[], untested: readonly LocatedObject[]): InputError {
  if (untested.length > 0) return inputErrorOf(untested.map(noTests));
  return new InputError('nothing', `${paths.join(', ')}: no Policy of ${API_VERSION} found.`);
}

function testOne(located: LocatedObject, schemas: SchemaSource, problems: Problem[]): readonly TestedPolicy[] {
  const refuse = (issues: readonly PolicyIssue[]): readonly TestedPolicy[] => {
    for (const { code, path, line, column, message } of issues) {
      problems.push({ code, file: located.file, ...located.placeInText(path, line, column), message });
    }
    return [];
  };
  const { model, issues } = readPolicy(located.object);
  if (model === undefined) return refuse(issues);
  const report = runPolicyTests(model);
  const errors = report.issues.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) return refuse(errors);
  return [placed(located, report, [...issues, ...report.issues, ...typeCheckPolicy(model, schemas).issues])];
}

function written(tested: readonly TestedPolicy[], { output, coverage = false, minCoverage }: TestOptions): string {
  switch (output) {
    case 'json':
      return `${JSON.stringify(tested, null, 2)}\n`;
    case 'junit':
      return asJunit(tested, minCoverage);
    case 'text':
      return asText(tested, { coverage, minCoverage });
  }
}
