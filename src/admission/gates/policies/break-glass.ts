/**
 * The exemption for the break-glass group: Policies can lock each other, so that nobody can change or delete one of
 * them. Members of the group can take exactly three ways out of that, whatever other Policies say: delete a Policy, set
 * rules to `Warn` or `Audit`, or set `failurePolicy: Ignore`. An update that changes anything else is evaluated as ever.
 */
import { isDeepStrictEqual } from 'node:util';
import { GROUP, MANAGED_BY, MANAGED_BY_LABEL, policy as policyKind } from '../../../api/index.ts';
import { type AdmissionRequest, isObject, type Json } from '../../review/decode.ts';

export const defaultBreakGlassGroup = 'kidp:break-glass';

/** The exempt changes of a Policy. */
export type BreakGlassChange = 'delete' | 'enforcement' | 'failurePolicy';

/** `breakGlassChange` returns the exempt change that the request makes; undefined if policies apply to it. */
export function breakGlassChange(request: AdmissionRequest, group: string): BreakGlassChange | undefined {
  const { kind, operation, subResource, userInfo, object, oldObject } = request;
  if (kind.group !== GROUP || kind.kind !== policyKind.kind || subResource !== undefined) return undefined;
  if (userInfo?.groups?.includes(group) !== true) return undefined;
  if (operation === 'DELETE') return 'delete';
  if (operation !== 'UPDATE' || object === undefined || oldObject === undefined) return undefined;
  const changes = new Set<BreakGlassChange>();
  const [before, after] = [partsOf(oldObject), partsOf(object)];
  const isSame =
    isDeepStrictEqual(before.others, after.others) &&
    relaxes(before.failurePolicy, after.failurePolicy, ['Ignore'], 'failurePolicy', changes) &&
    before.enforcements.length === after.enforcements.length &&
    before.enforcements.every((each, index) =>
      relaxes(each, after.enforcements[index], ['Warn', 'Audit'], 'enforcement', changes),
    );
  const [change] = changes;
  return isSame && changes.size === 1 ? change : undefined;
}

function relaxes(
  before: unknown,
  after: unknown,
  relaxed: readonly unknown[],
  change: BreakGlassChange,
  changes: Set<BreakGlassChange>,
): boolean {
  if (before === after) return true;
  changes.add(change);
  return relaxed.includes(after);
}

/** Parts a Policy into the fields of the exemption and all others that a user can write. */
function partsOf(policy: Json) {
  const { metadata, spec, status: _status, ...root } = policy;
  const { failurePolicy, rules, ...others } = isObject(spec) ? spec : { failurePolicy: undefined, rules: spec };
  const all = Array.isArray(rules) ? rules : [];
  return {
    failurePolicy,
    enforcements: all.map((rule: unknown) => (isObject(rule) ? rule.enforcement : undefined)),
    others: {
      root,
      metadata: writtenMetadata(isObject(metadata) ? metadata : {}),
      spec: others,
      rules: Array.isArray(rules) ? all.map(withoutEnforcement) : rules,
    },
  };
}

function withoutEnforcement(rule: unknown): unknown {
  if (!isObject(rule)) return rule;
  const { enforcement: _, ...others } = rule;
  return others;
}

/** The annotation in which `kubectl apply` keeps the manifest: it repeats the change. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Leaves out what the API server, kubectl and the mutation of the platform write. */
function writtenMetadata(metadata: Json): Json {
  const { managedFields: _fields, generation: _generation, resourceVersion: _version, ...others } = metadata;
  return {
    ...others,
    labels: without(metadata.labels, (key, value) => key === MANAGED_BY_LABEL && value === MANAGED_BY),
    annotations: without(metadata.annotations, (key) => key === lastApplied),
  };
}

const without = (map: unknown, leaves: (key: string, value: unknown) => boolean): Json =>
  isObject(map) ? Object.fromEntries(Object.entries(map).filter(([key, value]) => !leaves(key, value))) : {};
