/** What the log says of a review: every denial, and what becomes a deployment, so that what follows can be traced back to who applied it. */
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

/** Of what a broker brings about, each new generation, and its deletion. */
export function logAdmitted(request: AdmissionRequest, log: Logger): void {
  if (!isDeployable(request) || request.subResource !== undefined || request.dryRun === true) return;
  const born = newGenerationOf(request);
  if (born === undefined) return;
  const { uid: review, operation, kind, namespace, name, userInfo } = request;
  // As the first attempt to deploy this generation is called from then on.
  const correlationId = `${born.uid}/${born.generation}/1`;
  const user = userInfo?.username;
  log.info('admitted', { operation, kind: kind.kind, namespace, name, ...born, correlationId, user, review });
}

interface Born {
  readonly uid: string;
  readonly generation: number;
}

/** Undefined where the generation stays what it was: that is no deployment. */
function newGenerationOf({ operation, object, oldObject }: AdmissionRequest): Born | undefined {
  const [before, after] = [identityOf(oldObject), identityOf(object)];
  // It is marked as going in a moment, and that is a generation too.
  if (operation === 'DELETE')
    return before === undefined ? undefined : { ...before, generation: before.generation + 1 };
  return after?.generation === before?.generation ? undefined : after;
}

function identityOf(object: Json | undefined): Born | undefined {
  if (object === undefined || !isObject(object.metadata)) return undefined;
  const { uid, generation } = object.metadata;
  return typeof uid === 'string' && typeof generation === 'number' ? { uid, generation } : undefined;
}
