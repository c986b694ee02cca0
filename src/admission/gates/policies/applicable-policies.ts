/**
 * Selects the policies that apply to one call of the API server: all policies in force, except the Policy that is being
 * written itself, and those that are evaluated for the same request in another call, in another version (versions.ts).
 */
import { GROUP, policy as policyKind } from '../../../api/index.ts';
import { type PolicyModel, type PolicySet, policySet, type World } from '../../../policy/index.ts';
import { policyMatchesType, type RequestType } from '../../../policy/internal.ts';
import type { AdmissionRequest } from '../../review/decode.ts';

/**
 * `withoutItself` excludes the Policy that is being written: a Policy that denies all Policies could otherwise never be
 * fixed or deleted.
 */
export function withoutItself(set: PolicySet, request: AdmissionRequest): PolicySet {
  const { kind, name, object, oldObject, operation } = request;
  if (kind.group !== GROUP || kind.kind !== policyKind.kind) return set;
  // The deletion of a collection names no object.
  const own = name ?? ((object ?? oldObject)?.metadata as { name?: unknown } | undefined)?.name;
  const itself = set.policies.find(({ model }) => model.kind === 'Policy' && model.name === own);
  // Hardly any Policy matches Policies; only then is there something to exclude.
  if (itself === undefined || !policyMatchesType(itself.model, typeOf(request), operation)) return set;
  return without(set, `itself ${itself.model.name}`, (model) => model === itself.model);
}

/**
 * `withoutEvaluatedElsewhere` selects the policies for a converted request: those that match neither the request as it
 * was sent, nor one of the versions in `elsewhere` (`v1.autoscaling`), which take precedence.
 */
export function withoutEvaluatedElsewhere(
  { set, world }: { readonly set: PolicySet; readonly world: World },
  request: AdmissionRequest,
  elsewhere: readonly string[],
): PolicySet {
  const here = typeOf(request, world);
  const { requestResource, requestKind, operation } = request;
  const sent: RequestType = {
    ...here,
    ...(requestKind === undefined ? {} : { kind: requestKind.kind }),
    ...(requestResource === undefined ? {} : requestResource),
  };
  const others = [sent, ...elsewhere.map((text) => ({ ...here, ...groupVersionOf(text) }))];
  const key = JSON.stringify([operation, here.kind, here.resource, others]);
  return without(set, key, (model) => others.some((type) => policyMatchesType(model, type, operation)));
}

function typeOf({ kind, resource, subResource = '' }: AdmissionRequest, world?: World): RequestType {
  const { group, version } = resource ?? kind;
  const plural = resource?.resource ?? '';
  const parentKind = subResource === '' ? undefined : world?.kindOf?.(group, version, plural);
  return { group, version, kind: kind.kind, resource: plural, subresource: subResource, parentKind };
}

function groupVersionOf(text: string): { version: string; group: string } {
  const [version = '', ...group] = text.split('.');
  return { version, group: group.join('.') };
}

/**
 * The derived sets, cached while the original set is in force: there are few types and names, and building a set of a
 * thousand policies takes time.
 */
const made = new WeakMap<PolicySet, Map<string, PolicySet>>();
const mostMade = 64;

function without(set: PolicySet, key: string, leaves: (model: PolicyModel) => boolean): PolicySet {
  const known = made.get(set) ?? new Map<string, PolicySet>();
  made.set(set, known);
  const found = known.get(key);
  if (found !== undefined) return found;
  const exceptions = [...new Set([...set.exceptions.values()].flat())];
  const smaller = policySet({
    policies: set.policies.filter(({ model }) => !leaves(model)),
    exceptions,
    platformNamespace: set.platformNamespace,
    excludedNamespaces: set.excludedNamespaces,
    exceptionNamespaces: exceptions.map(({ model }) => model.namespace),
  });
  if (known.size >= mostMade) known.clear();
  known.set(key, smaller);
  return smaller;
}
