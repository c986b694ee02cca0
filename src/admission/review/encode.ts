/** Encodes an AdmissionReview v1 response: from a decision to the body of the response and the denial message. */
import type { JsonPatchOperation } from '../../policy/index.ts';
import { writeJsonPatch } from '../../policy/internal.ts';
import { plainLine, plainText, plainValues } from '../../runtime/internal.ts';
import type { Decision, Violation } from './findings.ts';

/** `encodeReview` encodes the response. The API server accepts it only with the UID of the request. */
export function encodeReview(uid: string, decision: Decision): string {
  const { allowed, warnings, patches, auditAnnotations } = decision;
  let response = `{"uid":${JSON.stringify(uid)},"allowed":${allowed ? 'true' : 'false'}`;
  if (!allowed) response += `,"status":${JSON.stringify(statusOf(decision))}`;
  if (warnings.length > 0) response += `,"warnings":${JSON.stringify(warnings.map(plainText))}`;
  if (allowed && patches.length > 0) response += `,"patchType":"JSONPatch","patch":"${encodePatch(patches)}"`;
  if (auditAnnotations !== undefined)
    response += `,"auditAnnotations":${JSON.stringify(plainValues(auditAnnotations))}`;
  return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":${response}}}`;
}

/** The limits of a denial: enough for a terminal. The remaining violations are reported once these are fixed. */
const longestMessage = 16_384;
const mostCauses = 200;

/** `denialMessage` lists every violation, so that they can all be fixed at once. */
export function denialMessage({ violations }: Pick<Decision, 'violations'>): string {
  const lines: string[] = [];
  let length = 0;
  for (const violation of violations) {
    const line = plainText(lineOf(violation));
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

/** Ends a text with a full stop, unless it already ends a sentence. */
const sentence = (text: string): string => (/[.!?…:]$/.test(text) ? text : `${text}.`);

const statusCodes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  Invalid: 422,
  RequestEntityTooLarge: 413,
};

/** Builds the Status that kubectl and clients show. The causes are machine-readable. */
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
      causes: violations.slice(0, mostCauses).map(({ code, field, message }) => ({
        reason: code,
        field: plainLine(field),
        message: plainText(message),
      })),
    },
  };
}

const encodePatch = (patches: readonly JsonPatchOperation[]): string =>
  Buffer.from(writeJsonPatch(patches)).toString('base64');
