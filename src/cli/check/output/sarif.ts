/** SARIF 2.1.0, for code scanning: a rule for each rule of a policy, a result for each finding. */
import { createHash } from 'node:crypto';
import { isAbsolute, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { resultText } from '../../../policy/index.ts';
import { describeProblem, type Problem } from '../../documents/index.ts';
import { type CheckResult, describeResource, isFinding } from '../result.ts';
import type { Report } from './format.ts';
import { isUnmatched } from './text.ts';

export function asSarif(report: Report): string {
  const findings = report.results.filter(isFinding);
  const rules = [...new Map(findings.map((result) => [ruleId(result), result])).values()];
  const ids = rules.map(ruleId);
  return sarifLog({
    version: report.version,
    rules: rules.map(ruleOf),
    problems: report.problems,
    notifications: unmatchedOf(report),
    results: findings.map((result) => resultOf(result, ids.indexOf(ruleId(result)), report)),
  });
}

/** The frame around rules and results. */
export function sarifLog(run: {
  readonly version: string;
  readonly rules: readonly object[];
  readonly problems: readonly Problem[];
  readonly notifications: readonly object[];
  readonly results: readonly object[];
}): string {
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'kidp', version: run.version, rules: run.rules } },
        columnKind: 'utf16CodeUnits',
        invocations: [
          {
            executionSuccessful: run.problems.length === 0,
            toolExecutionNotifications: [...run.problems.map(problemOf), ...run.notifications],
          },
        ],
        results: run.results,
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

const ruleId = ({ policy, rule }: CheckResult): string => (rule === '' ? policy : `${policy}/${rule}`);

function ruleOf(result: CheckResult) {
  const { policy, rule, category, severity } = result;
  return {
    id: ruleId(result),
    name: rule === '' ? policy : rule,
    shortDescription: { text: result.message === '' ? ruleId(result) : result.message },
    defaultConfiguration: { level: levelOf(result) },
    properties: {
      tags: ['kubernetes', 'policy', ...(category === undefined ? [] : [category])],
      ...(severity === undefined ? {} : { severity }),
    },
  };
}

function resultOf(result: CheckResult, ruleIndex: number, { base }: Report) {
  const { resource } = result;
  return {
    ruleId: ruleId(result),
    ruleIndex,
    level: levelOf(result),
    message: { text: `${describeResource(resource)}: ${resultText(result)}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriOf(resource.file) },
          region: { startLine: resource.line, startColumn: resource.column },
        },
        logicalLocations: [
          {
            kind: 'resource',
            fullyQualifiedName: `${resource.apiVersion} ${describeResource(resource)}${result.field === undefined ? '' : ` ${result.field}`}`,
          },
        ],
      },
    ],
    // Lines move; what is wrong with which object does not.
    partialFingerprints: { 'kidpFinding/v1': fingerprint(result) },
    ...(base === undefined ? {} : { baselineState: result.known === true ? 'unchanged' : 'new' }),
  };
}

function levelOf(result: CheckResult): 'error' | 'warning' | 'note' {
  if (result.denies) return 'error';
  return result.enforcement === 'Audit' ? 'note' : 'warning';
}

function problemOf({ file, line, column, ...problem }: Problem) {
  const region =
    line === undefined ? {} : { region: { startLine: line, ...(column === undefined ? {} : { startColumn: column }) } };
  return {
    level: 'error',
    descriptor: { id: `input/${problem.code}` },
    message: { text: describeProblem({ file, ...problem }) },
    locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, ...region } }],
  };
}

function unmatchedOf({ results }: Report) {
  return results.filter(isUnmatched).map(({ resource, message }) => ({
    level: 'note',
    descriptor: { id: 'unmatched' },
    message: { text: `${describeResource(resource)}: ${message}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriOf(resource.file) },
          region: { startLine: resource.line, startColumn: resource.column },
        },
      },
    ],
  }));
}

/** Relative to where the command runs, which is the root of the repository in a CI. */
export function uriOf(file: string): string {
  const path = isAbsolute(file) ? relative('.', file) : file;
  if (path.startsWith('..')) return pathToFileURL(file).href;
  return path.split(sep).map(encodeURIComponent).join('/');
}

function fingerprint(result: CheckResult): string {
  const { apiVersion, kind, namespace = '', name } = result.resource;
  return createHash('sha256')
    .update(JSON.stringify([ruleId(result), apiVersion, kind, namespace, name]))
    .digest('hex')
    .slice(0, 32);
}
