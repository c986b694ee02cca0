/**
 * Checks Policies and PolicyExceptions when they are written, including dry runs.
 *
 * A Policy must compile, match the types that it selects and pass its own tests; then the author gets a warning with
 * the existing objects that it would deny. Possible mistakes are warnings: an exception for a policy that does not
 * exist yet is admitted, so that manifests can be applied in any order.
 *
 * Authors decide how much there is to examine, and without a client CA anyone on the network is an author. So Policies
 * are examined one at a time, in slices between which other reviews are answered, and until the deadline of the review.
 */
import { isDeepStrictEqual } from 'node:util';
import { policyException, policy as policyKind } from '../../api/index.ts';
import {
  type CompiledPolicy,
  type ExceptionModel,
  issueText,
  type PolicyIssue,
  type PolicyModel,
  policySet,
  readException,
  readPolicy,
  type SchemaSource,
} from '../../policy/index.ts';
import {
  compileExceptionSteps,
  compileSteps,
  policyTestSteps,
  type Steps,
  typeCheckSteps,
  writeJson,
} from '../../policy/internal.ts';
import type { Client } from '../../runtime/index.ts';
import { inSlices } from '../../runtime/internal.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import type { Findings, Violation } from '../review/findings.ts';
import { type BlastRadius, blastRadius } from './blast-radius.ts';
import { startExaminations } from './examinations.ts';
import type { LivePolicySource } from './source.ts';

export interface PolicyGateOptions {
  readonly client: Client;
  readonly source: LivePolicySource;
  /** Whether the callers may be anyone on the network: existing objects are not read for them. */
  readonly untrusted?: boolean | undefined;
  /** The time limit for checking existing objects. */
  readonly budgetMilliseconds?: number;
}

/** `readsExisting` is false for an author who lacks rights: existing objects are not read for them either. */
export type PolicyGate = (
  request: AdmissionRequest,
  deadline: Deadline,
  author?: { readonly readsExisting: boolean },
) => Promise<Findings>;

const defaultBudget = 1_800;
/** The time that is reserved for everything except examining. */
const reserveMilliseconds = 500;
/** The time limit of one embedded test. Other reviews wait for it. */
const testMilliseconds = 250;
/** The largest spec: the usual limit of etcd. */
const mostCharacters = 1.5 * 1024 * 1024;

export function policyGate(options: PolicyGateOptions): PolicyGate {
  const examinations = startExaminations();
  return async (request, deadline, { readsExisting } = { readsExisting: true }) => {
    const { kind, object, oldObject, caller } = request;
    // Metadata does not affect the policy, and an invalid Policy must remain deletable.
    if (object === undefined || isDeepStrictEqual(object.spec, oldObject?.spec)) return found([], []);
    const check = checks[kind.kind];
    if (check === undefined) return found([], []);
    if (writeJson(object.spec).length > mostCharacters) return found([tooLarge], []);
    const end = deadline.at - reserveMilliseconds;
    const { untrusted = false } = options;
    const rights = { ...options, untrusted: untrusted || !readsExisting };
    return examinations.run(caller?.address ?? '', end, () => check(object, end, rights));
  };
}

type Check = (object: Json, end: number, options: PolicyGateOptions) => Promise<Findings>;

const checks: Readonly<Record<string, Check>> = {
  [policyException.kind]: checkException,
  [policyKind.kind]: checkPolicy,
};

async function checkPolicy(object: Json, end: number, options: PolicyGateOptions): Promise<Findings> {
  const { source } = options;
  const read = readPolicy(object);
  if (read.model === undefined) return found(read.issues.map(violationOf), []);
  const { model } = read;
  const examined = await inSlices(examine(model, source.schemas()), end);
  if (examined === undefined) return found([outOfTime], []);
  const { policy } = examined;
  const issues = [...read.issues, ...examined.issues];
  const warnings = warningsOf(issues);
  if (policy === undefined) return found(errorsOf(issues), warnings);
  // Type errors and failed tests often have the same cause, so the author sees both at once.
  const violations = [...errorsOf(issues), ...(await failedTests(model, end))];
  if (violations.length > 0) return found(violations, warnings);
  return found([], [...warnings, ...(await wouldDeny(policy, end, options))]);
}

/** Compiles and type-checks a Policy. */
function* examine(
  model: PolicyModel,
  schemas: SchemaSource,
): Steps<{ policy?: CompiledPolicy; issues: PolicyIssue[] }> {
  const { policy, issues } = yield* compileSteps(model);
  if (policy === undefined) return { issues };
  const checked = yield* typeCheckSteps(model, schemas);
  return { policy, issues: [...issues, ...checked.issues] };
}

async function failedTests(model: PolicyModel, deadline: number): Promise<Violation[]> {
  const { results } = await inSlices(policyTestSteps(model, { coverage: false, deadline, testMilliseconds }));
  return results
    .filter(({ passed }) => !passed)
    .map(({ name, path, failures }) => ({
      gate: 'policy',
      code: 'TestFailed',
      field: path,
      message: `test "${name}" (${path}) failed: ${failures.join('; ')}`,
      next: 'Fix the rule or the test; `kidp test` runs the tests without a cluster',
    }));
}

const outOfTime: Violation = {
  gate: 'policy',
  code: 'ExaminationTimedOut',
  field: 'spec',
  message: 'the expressions could not be examined within the timeout of the webhook',
  next: 'Split the Policy, match fewer types, or use fewer and shorter expressions; `kidp test` examines it without a limit',
  reason: 'Invalid',
};

const tooLarge: Violation = {
  gate: 'policy',
  code: 'TooLarge',
  field: 'spec',
  message: `the spec has more than ${mostCharacters / 1024} KiB`,
  next: 'Split it, or use smaller objects in its tests',
  reason: 'Invalid',
};

async function wouldDeny(policy: CompiledPolicy, end: number, options: PolicyGateOptions): Promise<string[]> {
  const { client, source, budgetMilliseconds = defaultBudget } = options;
  const { model } = policy;
  if (model.rules.length === 0 || options.untrusted === true) return [];
  if (!source.synced()) return ['existing objects were not checked: the kinds of the cluster are not synced yet'];
  const { set, world } = source.current();
  const exceptions = [...(set.exceptions.get(model.name) ?? [])];
  const { platformNamespace, excludedNamespaces, exceptionNamespaces } = source.options;
  const left = end - Date.now();
  const radius = await blastRadius({
    client,
    model,
    set: policySet({ policies: [policy], exceptions, platformNamespace, excludedNamespaces, exceptionNamespaces }),
    world,
    mapping: source.mapping,
    budgetMilliseconds: Math.max(0, Math.min(budgetMilliseconds, left)),
  });
  return describe(radius);
}

/** `describe` formats the result as warnings. */
export function describe(radius: BlastRadius): string[] {
  const { looked, matched, denied, first, missing, partial, unasked, milliseconds } = radius;
  const atLeast = partial || missing.length > 0 ? 'at least ' : '';
  const names = first.join(', ') + (denied > first.length ? ` and ${denied - first.length} more` : '');
  const seconds = `${(milliseconds / 1000).toFixed(1)} s`;
  const seen = partial
    ? `only the first ${looked} objects checked in ${seconds}`
    : `${looked} objects checked in ${seconds}`;
  const lines = [
    denied > 0
      ? `would deny ${atLeast}${denied} of ${matched} matched existing objects (${seen}): ${names}`
      : `would deny none of ${matched} matched existing objects (${seen})`,
  ];
  if (missing.length > 0) lines.push(`not checked: ${missing.slice(0, 3).join(', ')}`);
  if (unasked.length > 0) {
    lines.push(
      `rules not evaluated for existing objects, because they need a request: ${unasked.slice(0, 5).join(', ')}`,
    );
  }
  return lines;
}

async function checkException(object: Json, end: number, { source }: PolicyGateOptions): Promise<Findings> {
  const read = readException(object);
  if (read.exception === undefined) return found(read.issues.map(violationOf), []);
  const compiled = await inSlices(compileExceptionSteps(read.exception), end);
  if (compiled === undefined) return found([outOfTime], []);
  const all = [...read.issues, ...compiled.issues];
  return found(errorsOf(all), [...warningsOf(all), ...doubts(read.exception, source)]);
}

function doubts(exception: ExceptionModel, source: LivePolicySource): string[] {
  const { exceptionNamespaces } = source.options;
  const lines: string[] = [];
  if (!exceptionNamespaces.includes(exception.namespace)) {
    lines.push(
      `this exception has no effect in namespace ${exception.namespace}: exceptions take effect only in ${exceptionNamespaces.join(', ') || 'no namespace'}`,
    );
  }
  if (exception.expiresAt !== undefined && exception.expiresAt <= Date.now()) {
    lines.push('this exception has no effect: it has expired (spec.expiresAt)');
  }
  for (const { name, rules } of exception.policies) {
    const model = source.state(name)?.model;
    if (model === undefined) {
      lines.push(`Policy ${name} does not exist (yet): this exception takes effect when it does`);
      continue;
    }
    for (const rule of rules ?? []) {
      const known = model.rules.find((each) => each.name === rule);
      if (known === undefined) lines.push(`Policy ${name} has no rule ${rule}; it has ${namesOf(model)}`);
      else if (known.exceptions === 'Never') lines.push(`rule ${rule} of Policy ${name} does not allow exceptions`);
    }
  }
  return lines;
}

const namesOf = ({ rules }: PolicyModel): string => rules.map(({ name }) => name).join(', ') || 'none';

const errorsOf = (issues: readonly PolicyIssue[]): Violation[] =>
  issues.filter(({ severity }) => severity === 'error').map(violationOf);

const warningsOf = (issues: readonly PolicyIssue[]): string[] =>
  issues.filter(({ severity }) => severity === 'warning').map(issueText);

function violationOf(issue: PolicyIssue): Violation {
  return {
    gate: 'policy',
    code: issue.code,
    field: issue.path,
    message: issueText(issue),
    next: '',
    reason: 'Invalid',
  };
}

const found = (violations: readonly Violation[], warnings: readonly string[]): Findings => ({
  violations,
  warnings,
  patches: [],
});
