/**
 * Judges Policies and PolicyExceptions when they are written, also on a dry run: a Policy must compile, fit the types that it matches
 * and pass its own tests; then its author is told what it would deny of what is there already. What only may be a mistake is a
 * warning: an exception from a policy that is not there yet is let in, so that an unordered apply works.
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
  /** How long existing objects are looked at. */
  readonly budgetMilliseconds?: number;
}

export type PolicyGate = (request: AdmissionRequest, deadline: Deadline) => Promise<Findings>;

const defaultBudget = 1_800;
/** What is left of the request's time for everything but the look at existing objects. */
const reserveMilliseconds = 500;

export function policyGate(options: PolicyGateOptions): PolicyGate {
  return async (request, deadline) => {
    const { kind, object, oldObject } = request;
    // Labels, annotations and finalizers change nothing of what it says; a Policy that was wrong before must still be able to go.
    if (object === undefined || isDeepStrictEqual(object.spec, oldObject?.spec)) return found([], []);
    if (kind.kind === policyException.kind) return checkException(object, options);
    return kind.kind === policyKind.kind ? checkPolicy(object, deadline, options) : found([], []);
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
  // Its fields and its tests are two views of the same mistake as often as not: the author sees both at once.
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
      message: `its own test "${name}" (${path}) fails: ${failures.join('; ')}`,
      next: 'Mend the rule or the test; `kidp test` runs them without a cluster',
    }));
}

async function wouldDeny(policy: CompiledPolicy, deadline: Deadline, options: PolicyGateOptions): Promise<string[]> {
  const { client, source, budgetMilliseconds = defaultBudget } = options;
  const { model } = policy;
  if (model.rules.length === 0) return [];
  if (!source.synced()) return ['existing objects were not looked at: the kinds of the cluster are not known yet'];
  const { set, world } = source.current();
  const exceptions = [...(set.exceptions.get(model.name) ?? [])];
  const { platformNamespace, exceptionNamespaces } = source.options;
  const left = deadline.at - Date.now() - reserveMilliseconds;
  const radius = await blastRadius({
    client,
    model,
    set: policySet({ policies: [policy], exceptions, platformNamespace, exceptionNamespaces }),
    world,
    mapping: source.mapping,
    budgetMilliseconds: Math.max(0, Math.min(budgetMilliseconds, left)),
  });
  return describe(radius);
}

/** Warnings: what kubectl prints in yellow under the apply. */
export function describe(radius: BlastRadius): string[] {
  const { looked, matched, denied, first, missing, partial, unasked, milliseconds } = radius;
  const atLeast = partial || missing.length > 0 ? 'at least ' : '';
  const names = first.join(', ') + (denied > first.length ? ` and ${denied - first.length} more` : '');
  const seconds = `${(milliseconds / 1000).toFixed(1)} s`;
  const seen = partial
    ? `looked only at the first ${looked} objects, for ${seconds}`
    : `${looked} objects looked at in ${seconds}`;
  const lines = [
    denied > 0
      ? `would deny ${atLeast}${denied} of ${matched} existing objects that it matches (${seen}): ${names}`
      : `would deny none of ${matched} existing objects that it matches (${seen})`,
  ];
  if (missing.length > 0) lines.push(`not looked at: ${missing.slice(0, 3).join(', ')}`);
  if (unasked.length > 0) {
    lines.push(`not tried on existing objects, because only a request can tell: ${unasked.slice(0, 5).join(', ')}`);
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
      `this exception has no effect in namespace ${exception.namespace}: exceptions are honoured in ${exceptionNamespaces.join(', ') || 'no namespace'}`,
    );
  }
  if (exception.expiresAt !== undefined && exception.expiresAt <= Date.now()) {
    lines.push('this exception has no effect: its time is over (spec.expiresAt)');
  }
  for (const { name, rules } of exception.policies) {
    const model = source.state(name)?.model;
    if (model === undefined) {
      lines.push(`there is no Policy ${name} (yet): this exception has an effect once there is`);
      continue;
    }
    for (const rule of rules ?? []) {
      const known = model.rules.find((each) => each.name === rule);
      if (known === undefined) lines.push(`Policy ${name} has no rule ${rule}; it has ${namesOf(model)}`);
      else if (known.exceptions === 'Never') lines.push(`rule ${rule} of Policy ${name} takes no exceptions`);
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
