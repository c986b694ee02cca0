/**
 * Logs decisions: every denial, and every admitted change that results in a deployment, so that later steps can be
 * traced to the user who applied it.
 */
import type { Logger } from '../../runtime/index.ts';
import type { Observer } from '../gates/observer.ts';
import { isDeployable } from '../gates/ownership/gate.ts';
import { type AdmissionRequest, isObject, type Json } from '../review/decode.ts';
import type { Decision } from '../review/findings.ts';

export function logDenied(
  request: AdmissionRequest,
  decision: Decision,
  { log, observer }: { readonly log: Logger; readonly observer?: Observer | undefined },
): void {
  const { uid: review, operation, kind, namespace, name } = request;
  const codes = decision.violations.map(({ code }) => code);
  log.info('denied', { operation, kind: kind.kind, namespace, name, codes, review });
  observer?.denied?.(request, decision);
}

/** `logAdmitted` logs each new generation and the deletion of a deployable object. */
export function logAdmitted(request: AdmissionRequest, log: Logger): void {
  if (!isDeployable(request) || request.subResource !== undefined || request.dryRun === true) return;
  const born = newGenerationOf(request);
  if (born === undefined) return;
  const { uid: review, operation, kind, namespace, name, userInfo } = request;
  // The correlation ID of the first deployment attempt of this generation.
  const correlationId = `${born.uid}/${born.generation}/1`;
  const user = userInfo?.username;
  log.info('admitted', { operation, kind: kind.kind, namespace, name, ...born, correlationId, user, review });
}

interface Born {
  readonly uid: string;
  readonly generation: number;
}

/** Returns the new generation, or undefined if the generation does not change, which is no deployment. */
function newGenerationOf({ operation, object, oldObject }: AdmissionRequest): Born | undefined {
  const [before, after] = [identityOf(oldObject), identityOf(object)];
  // A deletion increments the generation.
  if (operation === 'DELETE')
    return before === undefined ? undefined : { ...before, generation: before.generation + 1 };
  return after?.generation === before?.generation ? undefined : after;
}

function identityOf(object: Json | undefined): Born | undefined {
  if (object === undefined || !isObject(object.metadata)) return undefined;
  const { uid, generation } = object.metadata;
  return typeof uid === 'string' && typeof generation === 'number' ? { uid, generation } : undefined;
}
