/**
 * The environment of policy expressions. The variables are those of native policies, with the types of Kubernetes for
 * `request` and `namespaceObject`. A Policy also has shorthand names for the parts of the object, and the variables of
 * `context`.
 */
import {
  composedType,
  type Environment,
  environment,
  type ObjectType,
  type Type,
  type TypeProvider,
  types,
  withComposed,
} from '../../cel/index.ts';
import { AUTHORIZER, RESOURCE_CHECK } from '../../cel/internal.ts';

/** Shorthand names for the fields of the object in a Policy; on DELETE, those of the deleted object. */
export const SHORTHANDS = ['spec', 'metadata', 'status', 'apiVersion', 'kind'] as const;

export interface EnvironmentNeeds {
  /** Native policies have no shorthand names and no context. */
  readonly native: boolean;
  readonly params: boolean;
  readonly authorizer: boolean;
  readonly context: readonly string[];
  /** If absent, there is no `variables`, as in match conditions. */
  readonly variables?: Readonly<Record<string, Type>>;
}

/** `policyEnvironment` caches environments, because a thousand policies share a few. */
export function policyEnvironment(needs: EnvironmentNeeds): Environment {
  const base = baseFor(needs);
  if (needs.variables === undefined) return base;
  const key = JSON.stringify([keyOf(needs), typesKey(needs.variables)]);
  let made = COMPOSED.get(key);
  if (made === undefined) {
    made = withComposed(base, needs.variables);
    if (COMPOSED.size >= MAX_KEPT) COMPOSED.clear();
    COMPOSED.set(key, made);
  }
  return made;
}

export { composedType };

const MAX_KEPT = 256;
const BASES = new Map<string, Environment>();
const COMPOSED = new Map<string, Environment>();

const keyOf = ({ native, params, authorizer, context }: EnvironmentNeeds): string =>
  JSON.stringify([native, params, authorizer, ...context]);

function baseFor(needs: EnvironmentNeeds): Environment {
  const { native, params, authorizer, context } = needs;
  const key = keyOf(needs);
  let made = BASES.get(key);
  if (made === undefined) {
    const variables: Record<string, Type> = {
      object: types.DYN,
      oldObject: types.DYN,
      request: types.object('kubernetes.AdmissionRequest'),
      namespaceObject: types.object('kubernetes.Namespace'),
    };
    if (params) variables.params = types.DYN;
    if (authorizer) {
      variables.authorizer = AUTHORIZER;
      variables['authorizer.requestResource'] = RESOURCE_CHECK;
    }
    if (!native) for (const name of [...SHORTHANDS, ...context]) variables[name] = types.DYN;
    made = environment('kubernetes-1.36', { variables, types: [requestTypes] });
    if (BASES.size >= MAX_KEPT) BASES.clear();
    BASES.set(key, made);
  }
  return made;
}

const typesKey = (fields: Readonly<Record<string, Type>>): string =>
  JSON.stringify(Object.entries(fields).map(([name, type]) => [name, types.typeName(type)]));

const { STRING, BOOL, INT, TIMESTAMP, DYN } = types;
const texts = types.list(STRING);
const labels = types.map(STRING, STRING);

/** The object types that the API server declares. */
const OBJECT_TYPES: ReadonlyMap<string, ObjectType> = new Map(
  [
    plain('kubernetes.GroupVersionKind', { group: STRING, version: STRING, kind: STRING }),
    plain('kubernetes.GroupVersionResource', { group: STRING, version: STRING, resource: STRING }),
    plain('kubernetes.UserInfo', { username: STRING, uid: STRING, groups: texts, extra: types.map(STRING, texts) }),
    plain('kubernetes.AdmissionRequest', {
      kind: types.object('kubernetes.GroupVersionKind'),
      resource: types.object('kubernetes.GroupVersionResource'),
      subResource: STRING,
      requestKind: types.object('kubernetes.GroupVersionKind'),
      requestResource: types.object('kubernetes.GroupVersionResource'),
      requestSubResource: STRING,
      name: STRING,
      namespace: STRING,
      operation: STRING,
      userInfo: types.object('kubernetes.UserInfo'),
      dryRun: BOOL,
      options: DYN,
    }),
    plain('kubernetes.NamespaceMetadata', {
      name: STRING,
      generateName: STRING,
      namespace: STRING,
      labels,
      annotations: labels,
      UID: STRING,
      creationTimestamp: TIMESTAMP,
      deletionGracePeriodSeconds: INT,
      deletionTimestamp: TIMESTAMP,
      generation: INT,
      resourceVersion: STRING,
      finalizers: texts,
    }),
    plain('kubernetes.NamespaceSpec', { finalizers: texts }),
    plain('kubernetes.NamespaceCondition', {
      status: STRING,
      type: STRING,
      lastTransitionTime: TIMESTAMP,
      message: STRING,
      reason: STRING,
    }),
    plain('kubernetes.NamespaceStatus', {
      conditions: types.list(types.object('kubernetes.NamespaceCondition')),
      phase: STRING,
    }),
    plain('kubernetes.Namespace', {
      metadata: types.object('kubernetes.NamespaceMetadata'),
      spec: types.object('kubernetes.NamespaceSpec'),
      status: types.object('kubernetes.NamespaceStatus'),
    }),
  ].map((each) => [each.name, each]),
);

const requestTypes: TypeProvider = (name) => OBJECT_TYPES.get(name);

function plain(name: string, fields: Readonly<Record<string, Type>>): ObjectType {
  return {
    name,
    constructible: false,
    field: (field) => (Object.hasOwn(fields, field) ? fields[field] : undefined),
    fieldNames: () => Object.keys(fields),
  };
}
