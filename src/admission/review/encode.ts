/** AdmissionReview v1, going out: from a decision to the bytes of the answer, and to the words that a user reads. */
import type { JsonPatchOperation } from '../../policy/index.ts';
import { writeJsonPatch } from '../../policy/internal.ts';
import type { Decision, Violation } from './findings.ts';

/** The API server takes the answer only if it carries the uid of the request. */
export function encodeReview(uid: string, decision: Decision): string {
  const { allowed, warnings, patches, auditAnnotations } = decision;
  let response = `{"uid":${JSON.stringify(uid)},"allowed":${allowed ? 'true' : 'false'}`;
  if (!allowed) response += `,"status":${JSON.stringify(statusOf(decision))}`;
  if (warnings.length > 0) response += `,"warnings":${JSON.stringify(warnings)}`;
  if (allowed && patches.length > 0) response += `,"patchType":"JSONPatch","patch":"${encodePatch(patches)}"`;
  if (auditAnnotations !== undefined) response += `,"auditAnnotations":${JSON.stringify(auditAnnotations)}`;
  return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":${response}}}`;
}

/** A terminal shows some; who wants to see more mends these first. */
const longestMessage = 16_384;
const mostCauses = 200;

/** One denial tells everything that is wrong, so that it can all be mended at once. */
export function denialMessage({ violations }: Pick<Decision, 'violations'>): string {
  const lines: string[] = [];
  let length = 0;
  for (const violation of violations) {
    const line = lineOf(violation);
    if (length + line.length > longestMessage && lines.length > 0) {
      lines.push(`… and ${violations.length - lines.length} more.`);
      break;
    }
    lines.push(line);
    length += line.length + 1;
  }
  return lines.join('\n');
}

function lineOf({ gate, message, next }: Violation): string {
  return next === '' ? `${gate}: ${sentence(message)}` : `${gate}: ${sentence(message)} ${sentence(next)}`;
}

/** An author's message may end as a sentence does, or not. */
const sentence = (text: string): string => (/[.!?…:]$/.test(text) ? text : `${text}.`);

const statusCodes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  Invalid: 422,
  RequestEntityTooLarge: 413,
};

/** What `kubectl` and a client's error show; the causes are for programs. */
function statusOf(decision: Decision) {
  const { violations } = decision;
  const reasons = new Set(violations.map(({ reason = 'Forbidden' }) => reason));
  const [only = 'Forbidden'] = reasons;
  const reason = reasons.size === 1 && only in statusCodes ? only : 'Forbidden';
  return {
    code: statusCodes[reason],
    reason,
    message: denialMessage(decision),
    details: {
      causes: violations.slice(0, mostCauses).map(({ code, field, message }) => ({ reason: code, field, message })),
    },
  };
}

const encodePatch = (patches: readonly JsonPatchOperation[]): string =>
  Buffer.from(writeJsonPatch(patches)).toString('base64');
