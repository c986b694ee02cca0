/**
 * The admission pipeline: a request passes the mutation, the platform gates (ownership, labels, approvals), the
 * policies and the asynchronous gates (CRD compatibility, checks of Policies), in that order.
 *
 * One revision of the policies applies to the whole request. Every gate is evaluated even if an earlier one denies, so
 * that one denial lists every violation.
 */

import { type AskAuthorizer, type JsonPatchOperation, jsonPatchBetween } from '../../policy/index.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest, Json, UserInfo } from '../review/decode.ts';
import { type Decision, decisionOf, type Findings, nothing } from '../review/findings.ts';
import { denyAccess } from './access.ts';
import type { AsyncGate, Facts, Phase } from './gate.ts';
import { hostFactsOf } from './hosts/gate.ts';
import type { Observer } from './observer.ts';
import { isOurs } from './ownership/gate.ts';
import { type OwnerLookup, resolveChain, unknownChain } from './ownership/owner-chain.ts';
import { gates, onlyRemovesFinalizers } from './platform.ts';
import { mutateForPlatform } from './platform-mutation.ts';
import { withoutEvaluatedElsewhere } from './policies/applicable-policies.ts';
import { type BreakGlassChange, breakGlassChange, defaultBreakGlassGroup } from './policies/break-glass.ts';
import { evaluatePolicies, findingsOf, type PolicySource } from './policies/evaluation.ts';
import { applyPolicyMutations, type PolicyMutationResult } from './policies/mutation.ts';
import { isOwnWrite } from './policies/own-writes.ts';
import { schemaViolation } from './schema.ts';

export interface PipelineOptions {
  readonly policies?: PolicySource | undefined;
  readonly owners?: OwnerLookup | undefined;
  readonly reconcilers?: readonly string[] | undefined;
  /** See `Facts`. */
  readonly dispatches?: boolean | undefined;
  readonly asyncGates?: readonly AsyncGate[] | undefined;
  /** Performs the authorization checks of `authorizer`. */
  readonly ask?: ((user: UserInfo, signal: () => AbortSignal) => AskAuthorizer) | undefined;
  readonly observer?: Observer | undefined;
  /** Whether the callers may be anyone on the network: patches then hold only what the request holds. */
  readonly untrusted?: boolean | undefined;
  /** The group whose members can relax and delete a Policy whatever other Policies say. */
  readonly breakGlassGroup?: string | undefined;
}

/**
 * Evaluates a request. `elsewhere` is set for a request that was converted for this call and is also sent unconverted
 * (applicable-policies.ts).
 */
export type Pipeline = (
  request: AdmissionRequest,
  phase: Phase,
  deadline: Deadline,
  elsewhere?: readonly string[],
) => Decision | Promise<Decision>;

export function admissionPipeline(options: PipelineOptions): Pipeline {
  const { asyncGates = [], breakGlassGroup = defaultBreakGlassGroup } = options;
  return (request, phase, deadline, elsewhere) => {
    if (onlyRemovesFinalizers(request)) return admitted;
    const exemption = breakGlassChange(request, breakGlassGroup);
    const at = exemption === undefined ? policiesFor(request, options, elsewhere) : undefined;
    const question: Question = { request, phase, deadline, options, exemption, at };
    // Most requests are for other kinds. Their path is short and synchronous.
    const short =
      phase === 'validate' &&
      (elsewhere !== undefined || (!isOurs(request) && !asyncGates.some((gate) => gate.matches(request))));
    if (!short || isNew(request, question)) return throughAll(question);
    const found = throughPolicies(question);
    return found instanceof Promise ? found.then(decisionOfOne) : decisionOfOne(found);
  };
}

/** Selects the revision of the policies for the whole request. */
function policiesFor(
  request: AdmissionRequest,
  { policies, reconcilers = [] }: PipelineOptions,
  elsewhere: readonly string[] | undefined,
): Question['at'] {
  if (policies === undefined || isOwnWrite(request, reconcilers)) return undefined;
  const at = policies.current();
  return elsewhere === undefined ? at : { ...at, set: withoutEvaluatedElsewhere(at, request, elsewhere) };
}

interface Question {
  readonly request: AdmissionRequest;
  readonly phase: Phase;
  readonly deadline: Deadline;
  readonly options: PipelineOptions;
  readonly exemption: BreakGlassChange | undefined;
  readonly at: ReturnType<PolicySource['current']> | undefined;
}

const admitted: Decision = { allowed: true, ...nothing };

const decisionOfOne = (found: Findings): Decision =>
  found === nothing ? admitted : { allowed: found.violations.length === 0, ...found };

/** Reports whether the namespace of the request is not yet in the cache. */
const isNew = ({ namespace }: AdmissionRequest, { at, options }: Question): boolean =>
  namespace !== undefined &&
  at !== undefined &&
  options.policies?.knowNamespace !== undefined &&
  at.world.namespace(namespace) === undefined;

async function throughAll(question: Question): Promise<Decision> {
  const { request, phase, deadline, options, exemption } = question;
  if (request.namespace !== undefined && isNew(request, question))
    await options.policies?.knowNamespace?.(request.namespace, deadline.signal());
  const { mutated, patches, found } = await throughOwnGates(question);
  const isDenied = found.some(({ violations }) => violations.length > 0);
  if (phase !== 'validate' && !isDenied) return { ...admitted, patches, warnings: found[0]?.warnings ?? [] };
  if (exemption !== undefined) return exempted(question, exemption, found);
  const matching = (options.asyncGates ?? []).filter((gate) => gate.matches(request));
  const rest = await Promise.all([
    throughPolicies({ ...question, request: mutated }),
    ...matching.map((gate) => throughAsyncGate(gate, mutated, deadline)),
  ]);
  return decisionOf([...found, ...rest]);
}

/**
 * A gate may rely on the schema of the object, which the API server has validated, except before a mutation. If a gate
 * fails on an object that does not conform, the object is denied for that.
 */
async function throughAsyncGate(gate: AsyncGate, request: AdmissionRequest, deadline: Deadline): Promise<Findings> {
  try {
    return await gate.evaluate(request, deadline);
  } catch (error) {
    const violation = schemaViolation(request);
    if (violation === undefined) throw error;
    return { ...nothing, violations: [violation] };
  }
}

/**
 * Admits a change of the break-glass group, unless a platform gate denies it. A Policy that is relaxed is not checked
 * again either: its own tests expect the denials that it no longer causes.
 */
function exempted({ request, options }: Question, change: BreakGlassChange, found: readonly Findings[]): Decision {
  const decision = decisionOf([
    ...found,
    { ...nothing, warnings: [breakGlassWarning], auditAnnotations: { 'break-glass': change } },
  ]);
  if (decision.allowed) options.observer?.exempted?.(request, change);
  return decision;
}

const breakGlassWarning =
  'break-glass: this change is exempt from Policies; it is recorded in the audit log and as an Event';

interface Passed {
  /** The request with the mutated object. */
  readonly mutated: AdmissionRequest;
  readonly patches: readonly JsonPatchOperation[];
  readonly found: readonly Findings[];
}

/** Violations that depend on the Team. The cache may be stale, so they are checked again with live reads. */
const teamDependent = new Set([
  'OwnerCycle',
  'OwnerChainTooLong',
  'OwnerOfAnotherTeam',
  'LabelManaged',
  'HostNotAllowed',
  'HostTaken',
  'HostsOverlap',
]);

async function throughOwnGates(question: Question): Promise<Passed> {
  const passed = await passOwnGates(question, false);
  const doubt = passed.found.some(({ violations }) => violations.some(({ code }) => teamDependent.has(code)));
  return doubt && question.options.owners !== undefined ? passOwnGates(question, true) : passed;
}

async function passOwnGates(question: Question, live: boolean): Promise<Passed> {
  const { request, phase } = question;
  if (phase === 'mutate-once') {
    const { object, changed, findings } = await throughMutations(request, question, 'Never');
    if (!changed || request.object === undefined) return { mutated: request, patches: [], found: [findings] };
    return { mutated: { ...request, object }, patches: jsonPatchBetween(request.object, object), found: [findings] };
  }
  const facts = await factsOf(request, question, live);
  if (phase === 'validate')
    return { mutated: request, patches: [], found: gates.map((gate) => gate.evaluate(request, facts)) };
  const { mutated, patches, findings, facts: after } = await mutateAll(question, facts, live);
  return { mutated, patches, found: [findings, ...gates.map((gate) => gate.evaluate(mutated, after))] };
}

async function throughMutations(
  request: AdmissionRequest,
  { at, options, deadline }: Question,
  reinvocation: 'Never' | 'IfNeeded',
): Promise<PolicyMutationResult> {
  const object = request.object ?? {};
  if (at === undefined || request.object === undefined) return { object, changed: false, findings: nothing };
  const ask = askerFor(request, options, deadline);
  const requestOnly = options.untrusted === true;
  return applyPolicyMutations({ ...at, request, ask, reinvocation, requestOnly, deadline: deadline.at });
}

interface MutatedAll {
  readonly mutated: AdmissionRequest;
  readonly patches: readonly JsonPatchOperation[];
  readonly findings: Findings;
  readonly facts: Facts;
}

/**
 * Applies the mutations of the platform, then those of the policies. These may set an owner, so the platform mutations
 * run once more.
 */
async function mutateAll(question: Question, facts: Facts, live: boolean): Promise<MutatedAll> {
  const { request } = question;
  const own = mutateForPlatform(request, facts);
  const first = own === undefined ? request : { ...request, object: own.object };
  const { object, changed, findings: found } = await throughMutations(first, question, 'IfNeeded');
  const findings = own === undefined ? found : { ...found, warnings: [...own.warnings, ...found.warnings] };
  if (!changed || request.object === undefined) return { mutated: first, patches: own?.patches ?? [], findings, facts };
  const second = { ...request, object };
  const factsAfter = await factsOf(second, question, live);
  const last = mutateForPlatform(second, factsAfter)?.object ?? object;
  return {
    mutated: { ...request, object: last },
    patches: jsonPatchBetween(request.object, last),
    findings,
    facts: factsAfter,
  };
}

async function factsOf(request: AdmissionRequest, { options, deadline }: Question, live: boolean): Promise<Facts> {
  const { owners, reconcilers = [], dispatches, untrusted } = options;
  const { object, kind, namespace, name, operation } = request;
  const asks = operation === 'CREATE' || operation === 'UPDATE';
  if (!asks || owners === undefined || object === undefined || !isOurs(request) || request.subResource !== undefined)
    return { chain: unknownChain, reconcilers, dispatches, untrusted };
  const read = { live, signal: deadline.signal() };
  const chain = await resolveChain({ kind: kind.kind, object: object as Json, namespace, name }, owners, read);
  const hosts = owners.hosts && (await hostFactsOf(request, owners.hosts, read));
  return { chain, reconcilers, dispatches, hosts, untrusted };
}

function throughPolicies({ request, at, options, deadline }: Question): Findings | Promise<Findings> {
  if (at === undefined) return nothing;
  const started = performance.now();
  const ask = askerFor(request, options, deadline);
  const evaluated = evaluatePolicies({ ...at, request, ask, deadline: deadline.at });
  const finish = (decision: Awaited<typeof evaluated>): Findings => {
    const microseconds = (performance.now() - started) * 1000;
    options.observer?.evaluated?.({ request, decision, microseconds });
    return findingsOf(decision, microseconds);
  };
  return evaluated instanceof Promise ? evaluated.then(finish) : finish(evaluated);
}

const askerFor = ({ userInfo = {} }: AdmissionRequest, { ask }: PipelineOptions, deadline: Deadline): AskAuthorizer =>
  ask === undefined ? denyAccess : ask(userInfo, () => deadline.signal());
