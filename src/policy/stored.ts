/**
 * Evaluates stored objects without a request: for the background scan, the blast radius of a policy, and reconcilers.
 * The missing parts of the request are marked as unknown, so that rules that read them are skipped and never pass.
 */
import { isGlob } from './match/globs.ts';
import { isEmptySelector } from './match/labels.ts';
import { matchesType } from './match/types.ts';
import type { MatchModel, PolicyModel } from './model.ts';
import type { AdmissionRequest, Json, RequestPart } from './request.ts';
import type { LabelSelector } from './world.ts';

/** A resource type that an API server serves. */
export interface StoredType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Whether it is the preferred version of its group. */
  readonly preferred?: boolean;
}

const UNKNOWN: readonly RequestPart[] = ['operation', 'oldObject', 'userInfo', 'authorizer'];

/** `storedRequest` builds the request to evaluate a stored object with. */
export function storedRequest(object: Json, { group, version, kind, plural }: StoredType): AdmissionRequest {
  const { name, namespace } = (object.metadata ?? {}) as { name?: string; namespace?: string };
  return {
    uid: '',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    operation: 'UPDATE',
    object,
    unknown: UNKNOWN,
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

/** `storedTypes` selects the types whose stored objects a policy may match, one version per resource. */
export function storedTypes<T extends StoredType>(model: PolicyModel, types: readonly T[]): T[] {
  if (![model.match, model.alsoMatch].every(matchesStored)) return [];
  const chosen = new Map<string, T>();
  for (const type of types) {
    if (!isSelected(model, type) && !isController(model, type)) continue;
    const id = `${type.plural}.${type.group}`;
    if (!chosen.has(id) || type.preferred === true) chosen.set(id, type);
  }
  return [...chosen.values()];
}

/** The part of a selector that the API server can evaluate when it lists objects. */
interface StoredSelection {
  readonly namespaces?: readonly string[];
  readonly selector?: LabelSelector;
}

export function storedSelection(model: PolicyModel, type: StoredType): StoredSelection {
  const { namespaces, objectSelector } = model.match;
  const exact = namespaces !== undefined && !namespaces.some(isGlob) && type.namespaced;
  // The labels of a workload controller differ from those of its Pods.
  const narrows = objectSelector !== undefined && !isEmptySelector(objectSelector) && !isController(model, type);
  return { ...(exact ? { namespaces } : {}), ...(narrows ? { selector: objectSelector } : {}) };
}

/**
 * A policy for only one of CREATE and UPDATE cannot be evaluated on stored objects, because it is not known which of
 * them happened.
 */
function matchesStored(match: MatchModel | undefined): boolean {
  const { operations } = match ?? {};
  return operations === undefined || (operations.includes('CREATE') && operations.includes('UPDATE'));
}

function isSelected({ match, alsoMatch }: PolicyModel, type: StoredType): boolean {
  return [match, alsoMatch].every((each) => {
    if (each === undefined) return true;
    if (each.excludeTypes?.some((excluded) => matchesType(excluded, requestType(type))) === true) return false;
    return each.types === undefined || each.types.some((wanted) => matchesType(wanted, requestType(type)));
  });
}

const groupOfController: Readonly<Record<string, string>> = {
  Deployment: 'apps',
  StatefulSet: 'apps',
  DaemonSet: 'apps',
  ReplicaSet: 'apps',
  Job: 'batch',
  CronJob: 'batch',
};

function isController({ podControllers }: PolicyModel, type: StoredType): boolean {
  if (podControllers === undefined) return false;
  const { kinds, additional } = podControllers;
  return (
    (kinds.includes(type.kind) && groupOfController[type.kind] === type.group) ||
    additional.some((each) => matchesType(each.type, requestType(type)))
  );
}

const requestType = ({ group, version, kind, plural }: StoredType) => ({
  group,
  version,
  kind,
  resource: plural,
  subresource: '',
});
