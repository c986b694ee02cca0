/** A kind: its name, its schema, and how kubectl shows it. The CRD, the editor schema and the reference page follow from it. */
import type { KubernetesObject, Resource } from '../runtime/index.ts';
import { API_VERSION, GROUP, VERSION } from './constants.ts';
import { type OpenApiSchema, type Schema, type Stored, text, type Written } from './schema/index.ts';

export interface PrinterColumn {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  jsonPath: string;
  description: string;
  /** 0, the default, is always shown; 1 only with `-o wide`. */
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
  /** What kubectl also calls it. Must collide with nothing that Kubernetes serves. */
  shortName: string;
  scope: 'Namespaced' | 'Cluster';
  /** Brought about by a broker, as opposed to what the platform keeps for itself. */
  deployable: boolean;
  description: string;
  spec: Spec;
  status: Status;
  /** The status that it has before its reconciler has looked at it; left out, none. */
  statusBefore?: Readonly<Record<string, unknown>>;
  /** Names end up in labels and in the names of what is deployed: 63 where that is so. */
  maxNameLength: 63 | 253;
  columns: readonly PrinterColumn[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
  /** A small, useful object for the reference page, in YAML. It is applied in the tests. */
  example: string;
}

export interface Kind<
  Name extends string = string,
  Spec extends Schema<object, object> = Schema<object, object>,
  Status extends Schema<object, object> = Schema<object, object>,
> extends KindDefinition<Name, Spec, Status> {
  /** How the runtime addresses it. */
  resource: Resource;
}

/** An object of a kind as the API server returns it: defaults are filled in. */
export interface ObjectOf<K extends Kind> extends KubernetesObject {
  apiVersion: typeof API_VERSION;
  kind: K['kind'];
  spec: Stored<K['spec']>;
  status?: Stored<K['status']>;
}

/** An object of a kind as a user may write it: defaulted fields may be left out. */
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

/** The schema of the whole object, as it stands in the CRD. */
export function openApiOf(kind: Kind): OpenApiSchema {
  return {
    description: kind.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: text(`The version of the API: \`${API_VERSION}\`.`, { maxLength: 253 }).openapi,
      kind: text(`The kind of the object: \`${kind.kind}\`.`, { maxLength: 63 }).openapi,
      metadata: metadataOf(kind),
      spec: kind.spec.openapi,
      status: statusOf(kind),
    },
  };
}

const statusOf = ({ status, statusBefore }: Kind): OpenApiSchema =>
  statusBefore === undefined ? status.openapi : { ...status.openapi, default: statusBefore };

/** The API server has its own schema of metadata, with its own description: only the name may be narrowed down here. */
function metadataOf(kind: Kind): OpenApiSchema {
  if (kind.maxNameLength === 253) return { type: 'object' };
  const name = text('The name. It becomes part of label values and of the names of what is deployed.', {
    maxLength: kind.maxNameLength,
  });
  return { type: 'object', properties: { name: name.openapi } };
}
