/**
 * The CRD gate. It denies a breaking change and lists every change, an example that breaks, and the number of existing
 * objects that would break. It also denies the deletion of a definition that has objects.
 *
 * Whatever cannot be determined in time is reported and never admitted silently. Requests that change only metadata are
 * ignored.
 */
import { createHash } from 'node:crypto';
import { GROUP } from '../../../api/index.ts';
import type { Change, Verdict } from '../../../crd-compat/index.ts';
import { isSeenInObjects } from '../../../crd-compat/internal.ts';
import type { AskAuthorizer } from '../../../policy/index.ts';
import { sameJson, writeJson } from '../../../policy/internal.ts';
import { type Client, type Logger, silentLogger } from '../../../runtime/index.ts';
import type { Deadline } from '../../review/deadline.ts';
import type { AdmissionRequest, Json, UserInfo } from '../../review/decode.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import { denyAccess } from '../access.ts';
import type { AsyncGate } from '../gate.ts';
import { type Comparer, type Comparers, ComparisonFailed } from './comparison-pool.ts';
import { annotationOf, isDefinition, metadataOf, textIn, versionsOf } from './definition.ts';
import {
  breakingViolations,
  deletionViolation,
  earlierWarnings,
  failedViolation,
  incompleteViolation,
  isConfirmedWarning,
  permittedWarnings,
  riskyWarnings,
  type Subject,
  storedAnnotation,
  unreadableViolations,
  unreadableWarnings,
  unusedWarnings,
} from './messages.ts';
import type { CrdMetrics, CrdReview } from './metrics.ts';
import { type Environment, type Permission, permissionFor } from './permission.ts';
import { newestRevision } from './previous-revision.ts';
import { countStored, readableTo, readStored, type Stored } from './stored-objects.ts';

export type { Environment } from './permission.ts';

/**
 * The annotation that confirms a deletion together with all objects. Its value is the UID of the definition or
 * Namespace.
 */
export const CONFIRM_DELETE = `${GROUP}/confirm-delete`;

export interface CrdGateOptions {
  /** The environment. In `production`, the default, only an Approval admits a breaking change. */
  readonly environment?: Environment | undefined;
  /** Admits a breaking change that affects no stored object and no served version. */
  readonly allowUnused?: boolean | undefined;
  /** The action for a risky change if not all objects could be checked. */
  readonly whenIncomplete?: 'deny' | 'warn' | undefined;
  /** The time limit of the gate. It must be below the 30 s that the API server waits. */
  readonly deadlineMilliseconds?: number | undefined;
}

interface CrdGateParts extends CrdGateOptions {
  readonly client?: Client | undefined;
  readonly comparers: Comparers;
  readonly ask?: ((user: UserInfo, signal: () => AbortSignal) => AskAuthorizer) | undefined;
  readonly metrics?: CrdMetrics | undefined;
  readonly log?: Logger | undefined;
}

const ownDeadlineMilliseconds = 25_000;
/** The reserve for looking up an Approval and for the response. */
const lastWordsMilliseconds = 4_500;
const farewellMilliseconds = 500;

export function crdGate(parts: CrdGateParts): AsyncGate {
  return {
    name: 'crd compatibility',
    matches: isDefinition,
    evaluate: (request, deadline) => evaluate(request, deadline, parts),
  };
}

/** The findings, the verdict and the checked objects. */
interface Outcome {
  readonly findings: Findings;
  readonly verdict: CrdReview['verdict'];
  readonly stored?: Stored;
}

const untouched: Outcome = { findings: nothing, verdict: 'none' };

interface Question {
  readonly request: AdmissionRequest;
  readonly parts: CrdGateParts;
  /** Whether the API server sent the request. Otherwise nothing that is read with our rights is reported. */
  readonly trusted: boolean;
  readonly name: string;
  readonly uid: string;
  readonly deadline: Deadline;
  /** Aborted some time before the deadline. */
  readonly signal: AbortSignal;
}

async function evaluate(request: AdmissionRequest, deadline: Deadline, parts: CrdGateParts): Promise<Findings> {
  const { metrics, log = silentLogger } = parts;
  const started = performance.now();
  const metadata = metadataOf(request.object ?? request.oldObject);
  const name = textIn(metadata, 'name') || (request.name ?? '');
  const limit = parts.deadlineMilliseconds ?? ownDeadlineMilliseconds;
  const milliseconds = Math.max(1, Math.min(limit, deadline.at - Date.now() - lastWordsMilliseconds));
  const signal = AbortSignal.timeout(milliseconds);
  const uid = textIn(metadataOf(request.oldObject), 'uid');
  const trusted = request.caller?.trusted !== false;
  const question = { request, parts, trusted, name, uid, deadline, signal };
  let outcome: Outcome;
  try {
    outcome = await (request.operation === 'DELETE' ? checkDeletion(question) : checkDefinition(question));
  } catch (error) {
    // An unknown result must not be admitted, and the user should know why.
    log.error('evaluating a CustomResourceDefinition failed', { name, error });
    const why = signal.aborted ? `the comparison timed out after ${milliseconds / 1000} s` : reasonOf(error);
    outcome = { findings: { ...nothing, violations: [failedViolation(name, why)] }, verdict: 'unreadable' };
  }
  const { findings, verdict, stored } = outcome;
  const seconds = (performance.now() - started) / 1000;
  const result = findings.violations.length > 0 ? 'denied' : 'allowed';
  const { checked = 0, broken = 0 } = stored ?? {};
  metrics?.reviewed({ operation: request.operation, verdict, result, seconds, checked, broken });
  if (verdict === 'none') return findings;
  const auditAnnotations = {
    ...findings.auditAnnotations,
    'crd-verdict': verdict,
    'crd-latency-milliseconds': String(Math.round(seconds * 1000)),
    ...(stored === undefined ? {} : { 'crd-stored-objects': storedAnnotation(stored) }),
  };
  return { ...findings, auditAnnotations };
}

const reasonOf = (error: unknown): string =>
  error instanceof ComparisonFailed ? error.message : 'see the log of kidp';

async function checkDefinition(question: Question): Promise<Outcome> {
  const { request, parts, signal } = question;
  const { object, oldObject } = request;
  if (object === undefined || (oldObject !== undefined && sameJson(object.spec, oldObject.spec))) return untouched;
  const comparer = await parts.comparers.take(signal);
  try {
    return await (oldObject === undefined
      ? checkCreation(question, object, comparer)
      : checkChange(question, object, oldObject, comparer));
  } finally {
    comparer.release();
  }
}

async function checkCreation(question: Question, object: Json, comparer: Comparer): Promise<Outcome> {
  const { name, parts, signal } = question;
  const text = writeJson(object);
  const created = await comparer.compare(undefined, text);
  if ('unreadable' in created) {
    // The API server accepts the definition. If only we cannot read it, it is admitted with a warning, unless it is too
    // large to ever be compared.
    const tooMuch = created.issues.some(({ code }) => code === 'too-deep' || code === 'too-large');
    const { issues } = created;
    const findings = tooMuch
      ? { ...nothing, violations: unreadableViolations(subjectOf(question, '', []), 'after', issues).slice(1) }
      : { ...nothing, warnings: unreadableWarnings(name, issues) };
    return { findings, verdict: 'unreadable' };
  }
  const safe: Outcome = { findings: nothing, verdict: 'safe' };
  const earlier = await newestRevision(question.trusted ? parts.client : undefined, name, signal).catch(
    (error: unknown) => {
      parts.log?.warn('reading earlier revisions of a definition failed', { name, error });
      return undefined;
    },
  );
  if (earlier === undefined) return safe;
  const again = await comparer.compare(earlier.text, text);
  if ('unreadable' in again || again.verdict.verdict !== 'breaking') return safe;
  return {
    findings: { ...nothing, warnings: earlierWarnings(again.verdict, earlier.sequence), ...annotated(again.verdict) },
    verdict: 'breaking',
  };
}

async function checkChange(question: Question, object: Json, oldObject: Json, comparer: Comparer): Promise<Outcome> {
  const { signal } = question;
  const [before, after] = [writeJson(oldObject), writeJson(object)];
  const compared = await comparer.compare(before, after);
  if ('unreadable' in compared) {
    const digest = digestOf(oldObject, object);
    const permission = await permitted(question, digest);
    const findings =
      permission.by === undefined
        ? {
            ...nothing,
            violations: unreadableViolations(
              subjectOf(question, digest, permission.notes),
              compared.unreadable,
              compared.issues,
            ),
          }
        : { ...nothing, warnings: unreadableWarnings(question.name, compared.issues), ...allowedBy(permission.by) };
    return { findings, verdict: 'unreadable' };
  }
  const { verdict } = compared;
  if (verdict.verdict === 'safe') return { findings: { ...nothing, ...annotated(verdict) }, verdict: 'safe' };
  // If stored objects cannot affect the result, they are not read: with an expired certificate of a conversion webhook
  // they cannot be read until this very change is applied.
  if (verdict.verdict === 'risky' && !verdict.changes.some(dependsOnObjects))
    return { findings: { ...nothing, warnings: riskyWarnings(verdict), ...annotated(verdict) }, verdict: 'risky' };
  const read = await readStored({ client: readerOf(question), name: question.name, comparer, signal });
  const stored = await readableTo(askFor(question, signal), read);
  const findings = await settle(question, oldObject, verdict, stored);
  return { findings, verdict: stored.broken > 0 ? 'breaking' : verdict.verdict, stored };
}

/** Whoever forged a review could choose the schema that decides what is reported about the objects. */
const readerOf = ({ parts, trusted }: Question) =>
  !trusted
    ? { none: 'the webhook cannot authenticate the API server (see docs/security/authenticate-the-api-server.md)' }
    : (parts.client ?? { none: 'there is no cluster to read them from' });

const askFor = ({ request, parts }: Question, signal: AbortSignal): AskAuthorizer =>
  parts.ask?.(request.userInfo ?? {}, () => signal) ?? denyAccess;

const dependsOnObjects = (change: Change): boolean => change.class !== 'safe' && isSeenInObjects(change.kind);

/** Reports whether unchecked objects affect the result. A change that is safe for all stored objects does not. */
const mattersUnread = (change: Change): boolean => change.storedObjects !== 'safe' && isSeenInObjects(change.kind);

/** Decides whether the change is admitted. */
async function settle(question: Question, before: Json, verdict: Verdict, stored: Stored): Promise<Findings> {
  const { parts } = question;
  const breaks = verdict.verdict === 'breaking' || stored.broken > 0;
  const isKnown = stored.incomplete === undefined || !verdict.changes.some(mattersUnread);
  const harmless = !breaks && (isKnown || 'none' in readerOf(question) || parts.whenIncomplete === 'warn');
  if (harmless) return { ...nothing, warnings: riskyWarnings(verdict, stored), ...annotated(verdict) };
  if (breaks && parts.allowUnused === true && isUnused(before, verdict, stored))
    return { ...nothing, warnings: unusedWarnings(verdict, stored), ...annotated(verdict, 'unused') };
  const permission = await permitted(question, verdict.digest);
  if (permission.by !== undefined)
    return {
      ...nothing,
      warnings: permittedWarnings(verdict, stored, permission.by),
      ...annotated(verdict, permission.by),
    };
  const subject = subjectOf(question, verdict.digest, permission.notes);
  const violations = breaks
    ? breakingViolations(verdict, stored, subject)
    : [incompleteViolation(question.name, stored, subject)];
  return { ...nothing, violations, ...annotated(verdict) };
}

/**
 * Reports whether a breaking change affects nothing: no object breaks, and there is either no object at all, or the
 * change affects only versions that were not served.
 */
function isUnused(before: Json, { changes }: Verdict, { total, broken, incomplete }: Stored): boolean {
  if (incomplete !== undefined || broken > 0) return false;
  if (total === 0) return true;
  const served = new Set(
    versionsOf(before)
      .filter((version) => version.served)
      .map((version) => version.name),
  );
  return changes.every(
    ({ manifests, version }) => manifests !== 'breaking' || (version !== '' && !served.has(version)),
  );
}

async function checkDeletion(question: Question): Promise<Outcome> {
  const { request, parts, name, uid, signal } = question;
  const { oldObject } = request;
  if (oldObject === undefined || typeof metadataOf(oldObject).deletionTimestamp === 'string') return untouched;
  const client = parts.client ?? { none: 'there is no cluster to query' };
  const counted = await countStored({ client, name, signal });
  if ('total' in counted && counted.total === 0) return { findings: nothing, verdict: 'safe' };
  const objects = question.trusted ? counted : { unknown: 'it is reported to the API server only' };
  const total = 'unknown' in objects ? undefined : objects.total;
  const confirmed = uid !== '' && annotationOf(oldObject, CONFIRM_DELETE)?.trim() === uid;
  const digest = digestOf(oldObject, undefined);
  const by = confirmed ? `the annotation ${CONFIRM_DELETE}` : (await permitted(question, digest)).by;
  if (by !== undefined) {
    const warnings = [isConfirmedWarning(name, by, total)];
    return { findings: { ...nothing, warnings, ...allowedBy(by) }, verdict: 'breaking' };
  }
  const violations = [deletionViolation(subjectOf(question, digest, []), objects, CONFIRM_DELETE)];
  return { findings: { ...nothing, violations }, verdict: 'breaking' };
}

/** Looks up the permission with a time limit of its own, because reading objects may have used up the first one. */
async function permitted(question: Question, digest: string): Promise<Permission> {
  const { request, parts, name, uid, deadline, trusted } = question;
  const signal = AbortSignal.timeout(Math.max(1, deadline.at - Date.now() - farewellMilliseconds));
  const { client, environment = 'production' } = parts;
  const ask = askFor(question, signal);
  const permission = await permissionFor({ request, name, uid, digest, client, ask, environment, signal });
  return trusted ? permission : { ...permission, notes: [] };
}

const subjectOf = ({ name, uid, parts }: Question, digest: string, notes: readonly string[]): Subject => ({
  name,
  uid,
  digest,
  notes,
  environment: parts.environment ?? 'production',
});

/** Computes the digest of two specs, for deletions and for definitions that src/crd-compat cannot read. */
function digestOf(before: Json, after: Json | undefined): string {
  const text = writeJson({ before: sorted(before.spec), after: sorted(after?.spec) ?? null });
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}

const annotated = ({ digest, changes }: Verdict, by?: string) => ({
  auditAnnotations: {
    'crd-digest': digest,
    'crd-changes': changes
      .filter((change) => change.class !== 'safe')
      .slice(0, 20)
      .map(({ kind, version, path }) => `${kind} ${version} ${path}`)
      .join(', '),
    ...(by === undefined ? {} : { 'crd-allowed-by': by }),
  },
});

const allowedBy = (by: string) => ({ auditAnnotations: { 'crd-allowed-by': by } });
