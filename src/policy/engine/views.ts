/** How the policies of a set see a request: as it was sent, and as the Pod that a controller's template describes. */
import { Subject } from '../match/subject.ts';
import type { AdmissionRequest } from '../request.ts';
import type { World } from '../world.ts';
import type { Lane } from './lanes.ts';
import { podOf } from './pods.ts';
import { type Judgement, Scope } from './scope.ts';
import type { PolicySet } from './set.ts';

export interface View {
  readonly lane: Lane;
  readonly scope: Scope;
  /** The request as it was sent; the same scope where that is what is seen. */
  readonly original: Scope;
}

export function viewsOf(
  set: PolicySet,
  request: AdmissionRequest,
  world: World,
  judgement: Judgement,
): readonly View[] {
  const object = request.object ?? null;
  const oldObject = request.oldObject ?? null;
  const subject = new Subject(request, world, object, oldObject, set.platformNamespace);
  const lanes = set.lanes.of(subject, subject.isUnknown('operation') ? undefined : subject.operation);
  if (lanes.length === 0) return NONE;
  const original = new Scope(subject, judgement);
  const views: View[] = [];
  for (const lane of lanes) {
    if (lane.path === undefined) {
      views.push({ lane, scope: original, original });
      continue;
    }
    const pod = podOf(object, lane.path);
    const oldPod = podOf(oldObject, lane.path);
    // A controller without a template makes no Pods.
    if (pod === null && oldPod === null) continue;
    views.push({ lane, scope: new Scope(subject.about(pod, oldPod), judgement), original });
  }
  return views;
}

const NONE: readonly View[] = [];
