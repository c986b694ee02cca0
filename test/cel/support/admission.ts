/** The variables of an admission policy as Kubernetes declares them, for our engine. */
import {
  type Environment,
  environment,
  type ObjectType,
  type Type,
  type TypeProvider,
  types,
} from '../../../src/cel/index.ts';

const { BOOL, DYN, INT, list, map, object, STRING, TIMESTAMP } = types;

const groupVersionKind = { group: STRING, version: STRING, kind: STRING };
const groupVersionResource = { group: STRING, version: STRING, resource: STRING };

const fieldsOfTypes: Readonly<Record<string, Readonly<Record<string, Type>>>> = {
  'kubernetes.GroupVersionKind': groupVersionKind,
  'kubernetes.GroupVersionResource': groupVersionResource,
  'kubernetes.UserInfo': { username: STRING, uid: STRING, groups: list(STRING), extra: map(STRING, list(STRING)) },
  'kubernetes.AdmissionRequest': {
    kind: object('kubernetes.GroupVersionKind'),
    resource: object('kubernetes.GroupVersionResource'),
    subResource: STRING,
    requestKind: object('kubernetes.GroupVersionKind'),
    requestResource: object('kubernetes.GroupVersionResource'),
    requestSubResource: STRING,
    name: STRING,
    namespace: STRING,
    operation: STRING,
    userInfo: object('kubernetes.UserInfo'),
    dryRun: BOOL,
    options: DYN,
  },
  'kubernetes.NamespaceSpec': { finalizers: list(STRING) },
  'kubernetes.NamespaceCondition': {
    status: STRING,
    type: STRING,
    lastTransitionTime: TIMESTAMP,
    message: STRING,
    reason: STRING,
  },
  'kubernetes.NamespaceStatus': { conditions: list(object('kubernetes.NamespaceCondition')), phase: STRING },
  'kubernetes.NamespaceMetadata': {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    labels: map(STRING, STRING),
    annotations: map(STRING, STRING),
    UID: STRING,
    creationTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    deletionTimestamp: TIMESTAMP,
    generation: INT,
    resourceVersion: STRING,
    finalizers: list(STRING),
  },
  'kubernetes.Namespace': {
    metadata: object('kubernetes.NamespaceMetadata'),
    spec: object('kubernetes.NamespaceSpec'),
    status: object('kubernetes.NamespaceStatus'),
  },
};

const provider: TypeProvider = (name): ObjectType | undefined => {
  const fields = Object.hasOwn(fieldsOfTypes, name) ? fieldsOfTypes[name] : undefined;
  if (fields === undefined) return undefined;
  return {
    name,
    constructible: false,
    field: (field) => (Object.hasOwn(fields, field) ? fields[field] : undefined),
    fieldNames: () => Object.keys(fields),
  };
};

/** Returns the environment of policy expressions. */
export function admissionEnvironment(): Environment {
  return environment('kubernetes-1.36', {
    types: [provider],
    variables: {
      object: DYN,
      oldObject: DYN,
      params: DYN,
      request: object('kubernetes.AdmissionRequest'),
      namespaceObject: object('kubernetes.Namespace'),
      authorizer: object('kubernetes.authorization.Authorizer'),
      'authorizer.requestResource': object('kubernetes.authorization.ResourceCheck'),
    },
  });
}
