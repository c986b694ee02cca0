/** Kubernetes Events on denials: about the object that was refused, related to the Policy that did, where a team looks for them. */
import { API_VERSION, policy as policyKind } from '../../api/index.ts';
import { apiVersionOf, type EventInput, type EventRecorder, type KubernetesObject } from '../../runtime/index.ts';
import type { Observer } from '../gates/observer.ts';
import type { AdmissionRequest } from '../review/decode.ts';

/** What happens again is counted, not written again: that is the recorder's part. */
export function denialEvents(recorder: Pick<EventRecorder, 'record'>): Observer {
  return {
    evaluated({ request, decision }) {
      if (decision.allowed || request.dryRun === true) return;
      for (const [policy, notes] of denialsOf(decision)) recorder.record(eventOf(request, policy, notes));
    },
  };
}

/** By policy: what each of its rules said. */
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
  const { username = 'somebody' } = request.userInfo ?? {};
  return {
    regarding: refusedObject(request) ?? related,
    related,
    type: 'Warning',
    reason: 'PolicyDenied',
    action: request.operation === 'CONNECT' ? 'Connect' : 'Admission',
    note: `${request.operation} by ${username} denied by policy ${policy}: ${notes.join('; ')}`,
  };
}

/** Undefined where it has no name: one that the API server would have made up. */
function refusedObject({ kind, namespace, name, object, oldObject }: AdmissionRequest): KubernetesObject | undefined {
  const metadata = ((oldObject ?? object)?.metadata ?? {}) as { name?: string; uid?: string };
  const known = name ?? metadata.name;
  if (known === undefined || known === '') return undefined;
  return {
    apiVersion: apiVersionOf({ ...kind, plural: '', namespaced: namespace !== undefined }),
    kind: kind.kind,
    metadata: {
      name: known,
      ...(namespace === undefined ? {} : { namespace }),
      // An object that was never created has no uid that anybody else knows.
      ...(oldObject === undefined || metadata.uid === undefined ? {} : { uid: metadata.uid }),
    },
  };
}
