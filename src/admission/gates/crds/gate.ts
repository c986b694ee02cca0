/**
 * The gate of CustomResourceDefinitions. A breaking change is denied, with every change, an example of what it breaks, and how many
 * of the objects that exist would break; so is the deletion of a definition that has objects. Whatever cannot be found out in time
 * is said, and never let in silently. A request that touches only metadata is none of its business.
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
  letInWarnings,
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
import { countStored, readStored, type Stored } from './stored-objects.ts';

export type { Environment } from './permission.ts';

/** Set beforehand to the uid of the definition, it confirms that all its objects shall go with it. */
export const CONFIRM_DELETE = `${GROUP}/confirm-delete`;

export interface CrdGateOptions {
  /** In `production`, the default, only an Approval lets a breaking change in. */
  readonly environment?: Environment | undefined;
  /** Lets in a breaking change that hits no stored object and nothing that is served. */
  readonly allowUnused?: boolean | undefined;
  /** What becomes of a risky change whose objects could not all be looked at. */
  readonly whenIncomplete?: 'deny' | 'warn' | undefined;
  /** The API server waits for 30 s; the answer must be there before. */
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
/** What is left when time is up, to look for an approval and to say how far it got. */
const lastWordsMilliseconds = 4_500;
const farewellMilliseconds = 500;

export function crdGate(parts: CrdGateParts): AsyncGate {
  return {
    name: 'crd compatibility',
    matches: isDefinition,
    evaluate: (request, deadline) => evaluate(request, deadline, parts),
  };
}

/** What is found, and what it was found by. */
interface Judged {
  readonly findings: Findings;
  readonly verdict: CrdReview['verdict'];
  readonly stored?: Stored;
}

const untouched: Judged = { findings: nothing, verdict: 'none' };

interface Question {
  readonly request: AdmissionRequest;
  readonly parts: CrdGateParts;
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
  const question = { request, parts, name, uid, deadline, signal };
  let judged: Judged;
  try {
    judged = await (request.operation === 'DELETE' ? checkDeletion(question) : checkDefinition(question));
  } catch (error) {
    // What is not known must not pass, and whoever waits should know why.
    log.error('a CustomResourceDefinition could not be judged', { name, error });
    const why = signal.aborted ? `it took longer than ${milliseconds / 1000} s` : wordsOf(error);
    judged = { findings: { ...nothing, violations: [failedViolation(name, why)] }, verdict: 'unreadable' };
  }
  const { findings, verdict, stored } = judged;
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

const wordsOf = (error: unknown): string =>
  error instanceof ComparisonFailed ? error.message : 'the log of kidp says why';

async function checkDefinition(question: Question): Promise<Judged> {
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

async function checkCreation(question: Question, object: Json, comparer: Comparer): Promise<Judged> {
  const { name, parts, signal } = question;
  const text = writeJson(object);
  const created = await comparer.compare(undefined, text);
  if ('unreadable' in created) {
    // The API server has found it valid. What only we cannot read could never be compared again, unless it is just too much.
    const tooMuch = created.issues.some(({ code }) => code === 'too-deep' || code === 'too-large');
    const { issues } = created;
    const findings = tooMuch
      ? { ...nothing, violations: unreadableViolations(subjectOf(question, '', []), 'after', issues).slice(1) }
      : { ...nothing, warnings: unreadableWarnings(name, issues) };
    return { findings, verdict: 'unreadable' };
  }
  const safe: Judged = { findings: nothing, verdict: 'safe' };
  const earlier = await newestRevision(parts.client, name, signal).catch((error: unknown) => {
    parts.log?.warn('earlier revisions of a definition could not be read', { name, error });
    return undefined;
  });
  if (earlier === undefined) return safe;
  const again = await comparer.compare(earlier.text, text);
  if ('unreadable' in again || again.verdict.verdict !== 'breaking') return safe;
  return {
    findings: { ...nothing, warnings: earlierWarnings(again.verdict, earlier.sequence), ...annotated(again.verdict) },
    verdict: 'breaking',
  };
}

async function checkChange(question: Question, object: Json, oldObject: Json, comparer: Comparer): Promise<Judged> {
  const { parts, signal } = question;
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
  // Where objects can tell nothing, that they cannot be read decides nothing: a conversion webhook whose certificate has turned keeps
  // them from being read until this very change is made.
  if (verdict.verdict === 'risky' && !verdict.changes.some(isToldByObjects))
    return { findings: { ...nothing, warnings: riskyWarnings(verdict), ...annotated(verdict) }, verdict: 'risky' };
  const stored = await readStored({ client: parts.client, definition: oldObject, comparer, signal });
  const findings = await settle(question, oldObject, verdict, stored);
  return { findings, verdict: stored.broken > 0 ? 'breaking' : verdict.verdict, stored };
}

const isToldByObjects = (change: Change): boolean => change.class !== 'safe' && isSeenInObjects(change.kind);

/** Objects that were not looked at matter only where the change can reach them: one that is safe for all that is stored does not. */
const mattersUnread = (change: Change): boolean => change.storedObjects !== 'safe' && isSeenInObjects(change.kind);

/** The change and the objects are known: is it let in? */
async function settle(question: Question, before: Json, verdict: Verdict, stored: Stored): Promise<Findings> {
  const { parts } = question;
  const breaks = verdict.verdict === 'breaking' || stored.broken > 0;
  const isKnown = stored.incomplete === undefined || !verdict.changes.some(mattersUnread);
  const harmless = !breaks && (isKnown || parts.client === undefined || parts.whenIncomplete === 'warn');
  if (harmless) return { ...nothing, warnings: riskyWarnings(verdict, stored), ...annotated(verdict) };
  if (breaks && parts.allowUnused === true && isUnused(before, verdict, stored))
    return { ...nothing, warnings: unusedWarnings(verdict, stored), ...annotated(verdict, 'unused') };
  const permission = await permitted(question, verdict.digest);
  if (permission.by !== undefined)
    return {
      ...nothing,
      warnings: letInWarnings(verdict, stored, permission.by),
      ...annotated(verdict, permission.by),
    };
  const subject = subjectOf(question, verdict.digest, permission.notes);
  const violations = breaks
    ? breakingViolations(verdict, stored, subject)
    : [incompleteViolation(question.name, stored, subject)];
  return { ...nothing, violations, ...annotated(verdict) };
}

/** No object breaks, and either there is none at all, or what breaks for manifests could not be applied anyway: it was not served. */
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

async function checkDeletion(question: Question): Promise<Judged> {
  const { request, parts, name, uid, signal } = question;
  const { oldObject } = request;
  if (oldObject === undefined || typeof metadataOf(oldObject).deletionTimestamp === 'string') return untouched;
  const objects = await countStored({ client: parts.client, definition: oldObject, signal });
  const total = 'unknown' in objects ? undefined : objects.total;
  if (total === 0) return { findings: nothing, verdict: 'safe' };
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

/** Time that was used up by reading objects is not what decides over an approval: it gets a moment of its own. */
function permitted({ request, parts, name, uid, deadline }: Question, digest: string): Promise<Permission> {
  const signal = AbortSignal.timeout(Math.max(1, deadline.at - Date.now() - farewellMilliseconds));
  const { client, environment = 'production' } = parts;
  const ask = parts.ask?.(request.userInfo ?? {}, () => signal) ?? denyAccess;
  return permissionFor({ request, name, uid, digest, client, ask, environment, signal });
}

const subjectOf = ({ name, uid, parts }: Question, digest: string, notes: readonly string[]): Subject => ({
  name,
  uid,
  digest,
  notes,
  environment: parts.environment ?? 'production',
});

/** For what src/crd-compat cannot read, and for deletions: of exactly these two specs. */
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
