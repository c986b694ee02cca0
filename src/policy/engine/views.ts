/** The views of a request: as it was sent, and as the Pod of a workload controller's template. */
import { CompiledMatch } from '../match/match.ts';
import { Subject } from '../match/subject.ts';
import { matchesType } from '../match/types.ts';
import type { AdmissionRequest } from '../request.ts';
import type { World } from '../world.ts';
import type { CompiledPolicy } from './compile.ts';
import type { MatchIndex } from './match-index.ts';
import { controllerTypes, podOf } from './pods.ts';
import { type Evaluation, Scope } from './scope.ts';
import type { PolicySet } from './set.ts';

export interface View {
  readonly index: MatchIndex;
  readonly scope: Scope;
  /** The scope of the request as it was sent. */
  readonly original: Scope;
}

export function viewsOf(
  set: PolicySet,
  request: AdmissionRequest,
  world: World,
  evaluation: Evaluation,
): readonly View[] {
  const object = request.object ?? null;
  const oldObject = request.oldObject ?? null;
  const subject = new Subject(request, world, object, oldObject, set.systemNamespaces);
  const indexes = set.index.of(subject, subject.isUnknown('operation') ? undefined : subject.operation);
  if (indexes.length === 0) return NONE;
  const original = new Scope(subject, evaluation);
  const views: View[] = [];
  for (const index of indexes) {
    if (index.path === undefined) {
      views.push({ index, scope: original, original });
      continue;
    }
    const pod = podOf(object, index.path);
    const oldPod = podOf(oldObject, index.path);
    // A workload controller without a template creates no Pods.
    if (pod === null && oldPod === null) continue;
    views.push({ index, scope: new Scope(subject.withObjects(pod, oldPod), evaluation), original });
  }
  return views;
}

/** `viewOf` returns the view of one policy, whether it matches or not, for an explanation. */
export function viewOf(
  set: PolicySet,
  policy: CompiledPolicy,
  request: AdmissionRequest,
  world: World,
  evaluation: Evaluation,
): { readonly scope: Scope; readonly path: string | undefined; readonly match: CompiledMatch } {
  const { object = null, oldObject = null } = request;
  const subject = new Subject(request, world, object, oldObject, set.systemNamespaces);
  const { match, podControllers } = policy.model;
  for (const [path, types] of podControllers === undefined ? [] : controllerTypes(podControllers)) {
    const [pod, oldPod] = [podOf(object, path), podOf(oldObject, path)];
    if (!types.some((type) => matchesType(type, subject)) || (pod === null && oldPod === null)) continue;
    const scope = new Scope(subject.withObjects(pod, oldPod), evaluation);
    return { scope, path, match: new CompiledMatch({ ...match, types }) };
  }
  return { scope: new Scope(subject, evaluation), path: undefined, match: policy.match };
}

const NONE: readonly View[] = [];
