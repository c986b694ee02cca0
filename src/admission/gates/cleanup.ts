/**
 * The cleanup gate: guards the annotation `platform.company.com/abandon-cleanup`, which ends a deletion that never
 * finishes.
 *
 * With the UID of the object as its value, the annotation removes the object although its broker has not confirmed the
 * cleanup. Abandoned resources cost money and hold data, so the user must hold the verb `abandon-cleanup`, and the
 * audit log of the API server records the user.
 */
import { ABANDON_CLEANUP_ANNOTATION, GROUP, kindNamed } from '../../api/index.ts';
import type { AskAuthorizer } from '../../policy/index.ts';
import { type AdmissionRequest, isObject, type Json, type UserInfo } from '../review/decode.ts';
import { nothing } from '../review/findings.ts';
import { denyAccess } from './access.ts';
import type { AsyncGate } from './gate.ts';
import { isDeployable } from './ownership/gate.ts';

const abandonCleanupVerb = 'abandon-cleanup';

export function cleanupGate(ask?: (user: UserInfo, signal: () => AbortSignal) => AskAuthorizer): AsyncGate {
  return {
    name: 'cleanup',
    matches: (request) => isDeployable(request) && abandons(request),
    async evaluate(request, deadline) {
      const { kind, namespace = '', name = '', userInfo = {}, object } = request;
      const uid = isObject(object?.metadata) ? object.metadata.uid : undefined;
      if (annotationOf(object) !== uid) {
        return denied(
          'AbandonUidMismatch',
          `the annotation ${ABANDON_CLEANUP_ANNOTATION} must be the metadata.uid of this object: want "${String(uid)}"`,
          'Set it to this UID only if the deployed resources may be left behind',
        );
      }
      const asking = ask?.(userInfo, () => deadline.signal()) ?? denyAccess;
      const resource = kindNamed(kind.kind)?.plural ?? '';
      const on = { group: GROUP, resource, namespace, name, subresource: '', fieldSelector: '', labelSelector: '' };
      const [answer] = await asking([{ kind: 'resource', subject: 'requester', verb: abandonCleanupVerb, ...on }]);
      if (answer?.allowed === true) {
        return {
          ...nothing,
          warnings: [
            'cleanup: when this object is deleted, it is removed without cleanup confirmation from its broker; deployed resources may still exist, remove them manually',
          ],
          auditAnnotations: { 'abandon-cleanup': userInfo.username ?? '' },
        };
      }
      const why = answer?.error === undefined ? '' : ` (${answer.error})`;
      return denied(
        'AbandonForbidden',
        `user "${userInfo.username ?? ''}" does not hold the verb ${abandonCleanupVerb} on ${resource}.${GROUP} "${name}"${why}`,
        'Ask a user who holds the verb to abandon the cleanup',
      );
    },
  };
}

/** Reports whether the request sets or changes the annotation. An unchanged annotation was already checked. */
function abandons({ operation, object, oldObject, subResource }: AdmissionRequest): boolean {
  if (subResource !== undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return false;
  const wanted = annotationOf(object);
  return wanted !== undefined && (operation === 'CREATE' || wanted !== annotationOf(oldObject));
}

function annotationOf(object: Json | undefined): unknown {
  const annotations = isObject(object?.metadata) ? object.metadata.annotations : undefined;
  return isObject(annotations) ? annotations[ABANDON_CLEANUP_ANNOTATION] : undefined;
}

const denied = (code: string, message: string, next: string) => ({
  ...nothing,
  violations: [{ gate: 'cleanup', code, field: `metadata.annotations[${ABANDON_CLEANUP_ANNOTATION}]`, message, next }],
});
