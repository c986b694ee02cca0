/**
 * The way out of a deletion that never ends: the annotation `platform.company.com/abandon-cleanup` with the uid of the object has it go
 * although its broker has not confirmed that the thing is gone. What may be left behind costs money and holds data, so whoever sets it must
 * hold the verb `abandon-cleanup`, and the API server's audit log says who it was.
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
        return refused(
          'AbandonsAnother',
          `the annotation ${ABANDON_CLEANUP_ANNOTATION} must be the metadata.uid of this object, "${String(uid)}"`,
          'Set it to that where what was deployed may be left behind',
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
            `cleanup: once this is deleted it goes without a word of its broker; see by hand that nothing is left behind`,
          ],
          auditAnnotations: { 'abandon-cleanup': userInfo.username ?? '' },
        };
      }
      const why = answer?.error === undefined ? '' : ` (${answer.error})`;
      return refused(
        'MayNotAbandon',
        `"${userInfo.username ?? ''}" does not hold the verb ${abandonCleanupVerb} on ${resource}.${GROUP} "${name}"${why}`,
        'Let somebody abandon the cleanup who does',
      );
    },
  };
}

/** Whether it is set or changed; what was there before has been judged before. */
function abandons({ operation, object, oldObject, subResource }: AdmissionRequest): boolean {
  if (subResource !== undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return false;
  const wanted = annotationOf(object);
  return wanted !== undefined && (operation === 'CREATE' || wanted !== annotationOf(oldObject));
}

function annotationOf(object: Json | undefined): unknown {
  const annotations = isObject(object?.metadata) ? object.metadata.annotations : undefined;
  return isObject(annotations) ? annotations[ABANDON_CLEANUP_ANNOTATION] : undefined;
}

const refused = (code: string, message: string, next: string) => ({
  ...nothing,
  violations: [{ gate: 'cleanup', code, field: `metadata.annotations[${ABANDON_CLEANUP_ANNOTATION}]`, message, next }],
});
