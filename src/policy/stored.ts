/**
 * Objects as they are stored, judged without a request: by the background scan, by the blast radius of a policy, by reconcilers. What
 * only a request could tell is said to be unknown, so that rules that read it are skipped, never passed.
 */
import { isGlob } from './match/globs.ts';
import { isEmptySelector } from './match/labels.ts';
import { matchesType } from './match/types.ts';
import type { MatchModel, PolicyModel } from './model.ts';
import type { AdmissionRequest, Json, RequestPart } from './request.ts';
import type { LabelSelector } from './world.ts';

/** A type of resource as an API server serves it. */
export interface StoredType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Whether it is the version of its group that the server prefers. */
  readonly preferred?: boolean;
}

const UNKNOWN: readonly RequestPart[] = ['operation', 'oldObject', 'userInfo', 'authorizer'];

/** The request that is known to have been made about an object: that it is as it is. */
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

/** The types whose stored objects a policy may be about, each object in one version only. */
export function storedTypes<T extends StoredType>(model: PolicyModel, types: readonly T[]): T[] {
  if (![model.match, model.alsoMatch].every(isAboutStored)) return [];
  const chosen = new Map<string, T>();
  for (const type of types) {
    if (!isSelected(model, type) && !isController(model, type)) continue;
    const id = `${type.plural}.${type.group}`;
    if (!chosen.has(id) || type.preferred === true) chosen.set(id, type);
  }
  return [...chosen.values()];
}

/** What can be left to the API server when objects of a type are listed for a policy: it sends no more than these. */
interface StoredSelection {
  readonly namespaces?: readonly string[];
  readonly selector?: LabelSelector;
}

export function storedSelection(model: PolicyModel, type: StoredType): StoredSelection {
  const { namespaces, objectSelector } = model.match;
  const exact = namespaces !== undefined && !namespaces.some(isGlob) && type.namespaced;
  // The labels of a controller are not those of the Pods that it makes.
  const narrows = objectSelector !== undefined && !isEmptySelector(objectSelector) && !isController(model, type);
  return { ...(exact ? { namespaces } : {}), ...(narrows ? { selector: objectSelector } : {}) };
}

/** A stored object was created or updated: what is about only one of them would have to know which. */
function isAboutStored(match: MatchModel | undefined): boolean {
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
