/**
 * A kind: its name, its schema and its printer columns. The CRD, the editor schema and the reference page are generated
 * from it.
 */
import type { KubernetesObject, Resource } from '../runtime/index.ts';
import { API_VERSION, GROUP, VERSION } from './constants.ts';
import { type OpenApiSchema, type Schema, type Stored, text, type Written } from './schema/index.ts';

export interface PrinterColumn {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  jsonPath: string;
  description: string;
  /** 0, the default, is always shown; 1 is shown with `-o wide`. */
  priority?: number;
}

interface KindDefinition<
  Name extends string,
  Spec extends Schema<object, object>,
  Status extends Schema<object, object>,
> {
  kind: Name;
  plural: string;
  singular: string;
  /** The short name in kubectl. It must not collide with any kind that Kubernetes serves. */
  shortName: string;
  scope: 'Namespaced' | 'Cluster';
  /** Whether a broker provisions objects of the kind. */
  deployable: boolean;
  description: string;
  spec: Spec;
  status: Status;
  /** The initial status, before the first reconcile. If omitted, there is none. */
  statusBefore?: Readonly<Record<string, unknown>>;
  /** The longest name: 63 if names become label values or parts of the names of deployed resources. */
  maxNameLength: 63 | 253;
  columns: readonly PrinterColumn[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
  /** A small, useful example in YAML for the reference page. The tests apply it. */
  example: string;
}

export interface Kind<
  Name extends string = string,
  Spec extends Schema<object, object> = Schema<object, object>,
  Status extends Schema<object, object> = Schema<object, object>,
> extends KindDefinition<Name, Spec, Status> {
  /** The address of the kind for the runtime. */
  resource: Resource;
}

/** An object of a kind as the API server returns it, with defaults applied. */
export interface ObjectOf<K extends Kind> extends KubernetesObject {
  apiVersion: typeof API_VERSION;
  kind: K['kind'];
  spec: Stored<K['spec']>;
  status?: Stored<K['status']>;
}

/** An object of a kind as a user writes it: fields with defaults may be omitted. */
export interface ManifestOf<K extends Kind> extends KubernetesObject {
  apiVersion: typeof API_VERSION;
  kind: K['kind'];
  spec: Written<K['spec']>;
  status?: Written<K['status']>;
}

export function defineKind<
  const Name extends string,
  Spec extends Schema<object, object>,
  Status extends Schema<object, object>,
>(definition: KindDefinition<Name, Spec, Status>): Kind<Name, Spec, Status> {
  const { kind, plural, scope } = definition;
  return {
    ...definition,
    resource: { group: GROUP, version: VERSION, plural, kind, namespaced: scope === 'Namespaced' },
  };
}

/** `openApiOf` returns the schema of the whole object for the CRD. */
export function openApiOf(kind: Kind): OpenApiSchema {
  return {
    description: kind.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: text(`API version of the object: \`${API_VERSION}\`.`, { maxLength: 253 }).openapi,
      kind: text(`Kind of the object: \`${kind.kind}\`.`, { maxLength: 63 }).openapi,
      metadata: metadataOf(kind),
      spec: kind.spec.openapi,
      status: statusOf(kind),
    },
  };
}

const statusOf = ({ status, statusBefore }: Kind): OpenApiSchema =>
  statusBefore === undefined ? status.openapi : { ...status.openapi, default: statusBefore };

/**
 * The schema of metadata. The API server has its own schema and description for it; a CRD can only restrict the name.
 */
function metadataOf(kind: Kind): OpenApiSchema {
  if (kind.maxNameLength === 253) return { type: 'object' };
  const name = text('Name of the object. It becomes part of label values and of the names of deployed resources.', {
    maxLength: kind.maxNameLength,
  });
  return { type: 'object', properties: { name: name.openapi } };
}
