/** Kubernetes Events on denials, regarding the denied object and related to the Policy, and on uses of break-glass. */
import { API_VERSION, policy as policyKind } from '../../api/index.ts';
import { apiVersionOf, type EventInput, type EventRecorder, type KubernetesObject } from '../../runtime/index.ts';
import type { Observer } from '../gates/observer.ts';
import type { AdmissionRequest } from '../review/decode.ts';

/** `denialEvents` returns an observer that records Events. The recorder counts repetitions. */
export function denialEvents(recorder: Pick<EventRecorder, 'record'>): Observer {
  return {
    evaluated({ request, decision }) {
      if (decision.allowed || request.dryRun === true) return;
      for (const [policy, notes] of denialsOf(decision)) recorder.record(eventOf(request, policy, notes));
    },
    exempted(request, change) {
      const regarding = objectOf(request);
      if (regarding === undefined || request.dryRun === true) return;
      recorder.record({
        regarding,
        type: 'Warning',
        reason: 'BreakGlass',
        action: exemptActions[change],
        user: userOf(request),
        note: `${change === 'delete' ? 'deletion' : `change of ${change}`} by ${userOf(request)} was exempt from other Policies: break-glass group`,
      });
    },
  };
}

/** The recorder counts Events with the same action together. */
const exemptActions = { delete: 'Delete', enforcement: 'RelaxEnforcement', failurePolicy: 'RelaxFailurePolicy' };

/** Groups the messages of the denying rules by policy. */
function denialsOf({ results }: Parameters<NonNullable<Observer['evaluated']>>[0]['decision']): Map<string, string[]> {
  const denials = new Map<string, string[]>();
  for (const { denies, policyKind: kind, policy, rule, message } of results) {
    if (!denies || kind !== 'Policy') continue;
    denials.set(policy, [...(denials.get(policy) ?? []), `${rule}: ${message}`]);
  }
  return denials;
}

function eventOf(request: AdmissionRequest, policy: string, notes: readonly string[]): EventInput {
  const related: KubernetesObject = { apiVersion: API_VERSION, kind: policyKind.kind, metadata: { name: policy } };
  const user = userOf(request);
  return {
    regarding: objectOf(request) ?? related,
    related,
    type: 'Warning',
    reason: 'PolicyDenied',
    action: request.operation === 'CONNECT' ? 'Connect' : 'Admission',
    user,
    note: `${request.operation} by ${user} denied by policy ${policy}: ${notes.join('; ')}`,
  };
}

const userOf = ({ userInfo }: AdmissionRequest): string => userInfo?.username ?? 'an unknown user';

/** Returns the object of the request, or undefined if it has no name yet (generateName). */
function objectOf({ kind, namespace, name, object, oldObject }: AdmissionRequest): KubernetesObject | undefined {
  const metadata = ((oldObject ?? object)?.metadata ?? {}) as { name?: string; uid?: string };
  const known = name ?? metadata.name;
  if (known === undefined || known === '') return undefined;
  return {
    apiVersion: apiVersionOf({ ...kind, plural: '', namespaced: namespace !== undefined }),
    kind: kind.kind,
    metadata: {
      name: known,
      ...(namespace === undefined ? {} : { namespace }),
      // The UID of an object that was not created is not known to other clients.
      ...(oldObject === undefined || metadata.uid === undefined ? {} : { uid: metadata.uid }),
    },
  };
}
