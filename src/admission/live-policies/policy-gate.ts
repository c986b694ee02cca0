/**
 * Checks Policies and PolicyExceptions when they are written, including dry runs.
 *
 * A Policy must compile, match the types that it selects and pass its own tests; then the author gets a warning with
 * the existing objects that it would deny. Possible mistakes are warnings: an exception for a policy that does not
 * exist yet is admitted, so that manifests can be applied in any order.
 */
import { isDeepStrictEqual } from 'node:util';
import { policyException, policy as policyKind } from '../../api/index.ts';
import {
  type CompiledPolicy,
  compileException,
  compilePolicy,
  type ExceptionModel,
  issueText,
  type PolicyIssue,
  type PolicyModel,
  policySet,
  readException,
  readPolicy,
  runPolicyTests,
  typeCheckPolicy,
} from '../../policy/index.ts';
import type { Client } from '../../runtime/index.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import type { Findings, Violation } from '../review/findings.ts';
import { type BlastRadius, blastRadius } from './blast-radius.ts';
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
/** The time that is reserved for everything except checking existing objects. */
const reserveMilliseconds = 500;

export function policyGate(options: PolicyGateOptions): PolicyGate {
  return async (request, deadline, { readsExisting } = { readsExisting: true }) => {
    const { kind, object, oldObject } = request;
    // Metadata does not affect the policy, and an invalid Policy must remain deletable.
    if (object === undefined || isDeepStrictEqual(object.spec, oldObject?.spec)) return found([], []);
    if (kind.kind === policyException.kind) return checkException(object, options);
    if (kind.kind !== policyKind.kind) return found([], []);
    const { untrusted = false } = options;
    return checkPolicy(object, deadline, { ...options, untrusted: untrusted || !readsExisting });
  };
}

async function checkPolicy(object: Json, deadline: Deadline, options: PolicyGateOptions): Promise<Findings> {
  const { source } = options;
  const read = readPolicy(object);
  if (read.model === undefined) return found(read.issues.map(violationOf), []);
  const { model } = read;
  const compiled = compilePolicy(model);
  const issues = [...read.issues, ...compiled.issues];
  if (compiled.policy === undefined) return found(errorsOf(issues), warningsOf(issues));
  // Type errors and failed tests often have the same cause, so the author sees both at once.
  const examined = typeCheckPolicy(model, source.schemas()).issues;
  const tests = failedTests(model, deadline.at - reserveMilliseconds);
  const violations = [...errorsOf([...issues, ...examined]), ...tests];
  const warnings = warningsOf([...issues, ...examined]);
  if (violations.length > 0) return found(violations, warnings);
  return found([], [...warnings, ...(await wouldDeny(compiled.policy, deadline, options))]);
}

function failedTests(model: PolicyModel, deadline: number): Violation[] {
  return runPolicyTests(model, { coverage: false, deadline })
    .results.filter(({ passed }) => !passed)
    .map(({ name, path, failures }) => ({
      gate: 'policy',
      code: 'TestFailed',
      field: path,
      message: `test "${name}" (${path}) failed: ${failures.join('; ')}`,
      next: 'Fix the rule or the test; `kidp test` runs the tests without a cluster',
    }));
}

async function wouldDeny(policy: CompiledPolicy, deadline: Deadline, options: PolicyGateOptions): Promise<string[]> {
  const { client, source, budgetMilliseconds = defaultBudget } = options;
  const { model } = policy;
  if (model.rules.length === 0 || options.untrusted === true) return [];
  if (!source.synced()) return ['existing objects were not checked: the kinds of the cluster are not synced yet'];
  const { set, world } = source.current();
  const exceptions = [...(set.exceptions.get(model.name) ?? [])];
  const { platformNamespace, excludedNamespaces, exceptionNamespaces } = source.options;
  const left = deadline.at - Date.now() - reserveMilliseconds;
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

function checkException(object: Json, { source }: PolicyGateOptions): Findings {
  const read = readException(object);
  if (read.exception === undefined) return found(read.issues.map(violationOf), []);
  const { issues } = compileException(read.exception);
  const all = [...read.issues, ...issues];
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
