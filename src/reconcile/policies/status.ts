/** The status of a Policy, as a pure function, written only when it changes. */
import { isDeepStrictEqual } from 'node:util';
import type { Policy } from '../../api/index.ts';
import { issueText, type PolicyIssue, type TestReport, type TypeCheckReport } from '../../policy/index.ts';
import { type PolicyState, type ReadResource, readRole, readRoleText } from '../../policy/internal.ts';
import { type Condition, type DesiredCondition, mergeConditions } from '../../runtime/index.ts';
import { resourceText } from './read-access.ts';
import type { Replica } from './replicas.ts';
import { behind, hasApplied } from './replicas.ts';
import type { ReportApi } from './report-kinds.ts';
import type { PolicyScan } from './scan.ts';

export interface Known {
  readonly state: PolicyState;
  /** Undefined if the policy does not compile. */
  readonly examination: TypeCheckReport | undefined;
  readonly tests: TestReport | undefined;
  readonly replicas: readonly Replica[];
  /** A match that the webhook is not called for. */
  readonly uncovered: string | undefined;
  /** The API of the reports, and whether the cluster serves it. */
  readonly reports: { readonly group: ReportApi; readonly version: string; readonly available: boolean };
  /** Whether the webhook answers only an authenticated API server. */
  readonly authenticates: boolean;
  readonly scan: PolicyScan | undefined;
  /** Resources that the policy reads and kidp must not; undefined if it was not checked yet. */
  readonly unreadable: readonly ReadResource[] | undefined;
}

type Status = NonNullable<Policy['status']>;

const mostKinds = 1024;
const mostMismatches = 64;
const mostReplicas = 64;
const longestMessage = 4000;

export function statusOf(known: Known, before: Status | undefined, now: Date): Status {
  const { state, examination, tests, replicas, scan } = known;
  const { conditions } = mergeConditions(before?.conditions as Condition[] | undefined, conditionsOf(known), now);
  const revision = state.model?.revision;
  const current = replicas.filter(
    (replica) => !replica.silent && hasApplied(replica, state.name, state.resourceVersion),
  );
  const mismatches = examination?.issues ?? [];
  return {
    phase: phaseOf(known),
    observedGeneration: state.generation,
    conditions,
    ...(revision === undefined ? {} : { revision }),
    ...(examination === undefined
      ? {}
      : {
          matchedKinds: examination.matchedTypes.slice(0, mostKinds) as string[],
          cost: wholeNumber(examination.cost),
        }),
    ...(mismatches.length === 0 ? {} : { typeChecking: mismatches.slice(0, mostMismatches).map(mismatch) }),
    ...(tests === undefined || tests.results.length === 0
      ? {}
      : { tests: { passed: passed(tests), failed: tests.results.length - passed(tests) } }),
    ...(scan === undefined ? {} : scanFields(scan)),
    ...(revision === undefined || current.length === 0
      ? {}
      : { replicas: Object.fromEntries(current.slice(0, mostReplicas).map(({ identity }) => [identity, revision])) }),
  } as Status;
}

export const isSameStatus = (one: Status | undefined, other: Status): boolean => isDeepStrictEqual(one, other);

function phaseOf(known: Known): 'ready' | 'failed' | 'pending' {
  const { status } = readyCondition(known);
  if (status === 'True') return 'ready';
  return known.state.policy === undefined ? 'failed' : 'pending';
}

function conditionsOf(known: Known): DesiredCondition[] {
  const { observedGeneration } = { observedGeneration: known.state.generation };
  return [
    readyCondition(known),
    typeCondition(known),
    testsCondition(known),
    reportsCondition(known),
    readCondition(known),
    callersCondition(known),
  ].map((condition) => ({ ...condition, observedGeneration }));
}

function callersCondition({ authenticates }: Known): DesiredCondition {
  const type = 'CallersAuthenticated';
  if (authenticates) return { type, status: 'True', reason: 'ClientCertificate', message: '' };
  return {
    type,
    status: 'False',
    reason: 'Untrusted',
    message:
      'The webhook cannot distinguish the API server from others on the network: denials have no details and create no Events. Set --client-ca (docs/security/authenticate-the-api-server.md)',
  };
}

function readCondition({ state, unreadable }: Known): DesiredCondition {
  const type = 'ReadAccess';
  if (unreadable === undefined)
    return { type, status: 'Unknown', reason: 'NotChecked', message: 'The read access of kidp was not checked yet' };
  if (unreadable.length === 0) return { type, status: 'True', reason: 'Granted', message: '' };
  const role = readRoleText(readRole(`kidp-read-${state.name}`, unreadable));
  return {
    type,
    status: 'False',
    reason: 'Forbidden',
    message: bounded(
      `kidp must not list and watch ${unreadable.map(resourceText).join(', ')}: existing objects are not scanned, and params and context on them fail; admission still evaluates the policy. To grant it, apply as an administrator:\n${role}`,
    ),
  };
}

function reportsCondition({ reports: { group, version, available } }: Known): DesiredCondition {
  const type = 'ReportsAvailable';
  if (available) return { type, status: 'True', reason: 'Installed' };
  const open = group === 'openreports.io';
  const where = open ? ' of github.com/openreports/reports-api' : '';
  return {
    type,
    status: 'False',
    reason: open ? 'OpenReportsNotInstalled' : 'PolicyReportsNotInstalled',
    message: `The cluster does not serve ${group}/${version}: scan findings are only counted here. Install the CRDs${where} to get reports`,
  };
}

/**
 * In the order of enforcement: the policy compiles, the objects it reads are synced, the webhook is registered, and all
 * replicas enforce it.
 */
function readyCondition({ state, uncovered, replicas }: Known): DesiredCondition {
  const no = (reason: string, message: string): DesiredCondition => ({
    type: 'Ready',
    status: 'False',
    reason,
    message: bounded(message),
  });
  const errors = state.issues.filter(({ severity }) => severity === 'error');
  if (state.policy === undefined) return no('Invalid', errors.map(issueText).join('\n') || 'the object cannot be read');
  if (state.waitsFor.length > 0) {
    const kinds = state.waitsFor.map(({ apiVersion, kind }) => `${apiVersion}/${kind}`);
    return no('WaitingForObjects', `Waiting for the cache of ${[...new Set(kinds)].join(', ')}`);
  }
  if (uncovered !== undefined)
    return no(
      'WebhookNotRegistered',
      `The webhook is not registered for everything that the policy matches: ${uncovered}`,
    );
  const late = behind(replicas, state);
  if (late.length > 0) return no('ReplicasBehind', `Not enforced yet by ${late.slice(0, 10).join(', ')}`);
  const answering = replicas.filter(({ silent }) => !silent);
  if (answering.length === 0) return no('NoReplicas', 'No webhook replica reports ready');
  const where = answering.length === 1 ? 'one replica' : `${answering.length} replicas`;
  return { type: 'Ready', status: 'True', reason: 'Enforced', message: `Enforced by ${where}` };
}

function typeCondition({ examination }: Known): DesiredCondition {
  const type = 'TypeChecked';
  if (examination === undefined) {
    return {
      type,
      status: 'Unknown',
      reason: 'Invalid',
      message: 'The policy does not compile, so it was not type-checked',
    };
  }
  const [first] = examination.issues.toSorted((one, other) => rank(one) - rank(other));
  if (first === undefined) return { type, status: 'True', reason: 'TypesMatch', message: '' };
  const message = bounded(`${issueText(first)}${more(examination.issues.length - 1)}`);
  return first.severity === 'error'
    ? { type, status: 'False', reason: 'TypeMismatch', message }
    : { type, status: 'True', reason: 'TypesPartlyMatch', message };
}

function testsCondition({ tests }: Known): DesiredCondition {
  const type = 'TestsPassed';
  if (tests === undefined)
    return {
      type,
      status: 'Unknown',
      reason: 'Invalid',
      message: 'The policy does not compile, so its tests were not run',
    };
  const failed = tests.results.filter((each) => !each.passed);
  const [first] = failed;
  if (first !== undefined) {
    const message = `${first.path} "${first.name}": ${first.failures.join('; ')}${more(failed.length - 1)}`;
    return { type, status: 'False', reason: 'TestsFailed', message: bounded(message) };
  }
  if (tests.results.length === 0)
    return { type, status: 'Unknown', reason: 'NoTests', message: 'The policy has no tests (spec.tests)' };
  const { percent } = tests.coverage;
  return { type, status: 'True', reason: 'Passed', message: `Tests cover ${Math.floor(percent)} % of the expressions` };
}

function mismatch({ path, line, column, message, severity, resourceType }: PolicyIssue) {
  return {
    fieldRef: path === '' ? 'spec' : path,
    severity,
    message: bounded(message),
    ...(resourceType === undefined ? {} : { resourceType: resourceType.slice(0, 384) }),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  };
}

function scanFields({ violations, scannedObjects, at, p99Microseconds }: PolicyScan) {
  return {
    violations,
    scannedObjects,
    lastScanTime: new Date(at).toISOString().replace(/\.\d+Z$/, 'Z'),
    ...(p99Microseconds === undefined ? {} : { p99Microseconds }),
  };
}

const passed = ({ results }: TestReport): number => results.filter((each) => each.passed).length;
const rank = ({ severity }: PolicyIssue): number => (severity === 'error' ? 0 : 1);
const more = (count: number): string => (count > 0 ? ` (and ${count} more)` : '');
const wholeNumber = (value: number): number => Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
const bounded = (text: string): string =>
  text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1)}…`;
