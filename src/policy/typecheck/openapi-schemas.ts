/** Schemas that an API server publishes under /openapi/v3, for built-in kinds and CRDs as currently served. */
import type { Schema } from '../../cel/index.ts';
import type { GroupVersionKind, Json } from '../request.ts';
import { kindKey, type SchemaKind, type SchemaSource } from './schemas.ts';

const PREFIX = '#/components/schemas/';
const KIND_OF = 'x-kubernetes-group-version-kind';

interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Json>> | undefined>>;
}

/** `documents` are the responses of the addresses that /openapi/v3 lists, one per group and version. */
export function openApiSchemas(documents: readonly Json[]): SchemaSource {
  const components = new Map<string, Schema>();
  const byKind = new Map<string, Schema>();
  const kinds = new Map<string, SchemaKind>();
  for (const document of documents as readonly Document[]) {
    for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
      components.set(PREFIX + name, schema);
      const named = (schema as { [KIND_OF]?: readonly GroupVersionKind[] })[KIND_OF];
      // Request options list the kinds of every group; an object has exactly one.
      if (named?.length === 1) byKind.set(kindKey(named[0] as GroupVersionKind), schema);
    }
    for (const kind of servedKinds(document)) kinds.set(kindKey(kind), kind);
  }
  return {
    kinds: () => [...kinds.values()],
    schema: (kind) => byKind.get(kindKey(kind)),
    resolve: (reference) => components.get(reference),
  };
}

/**
 * The path `/apis/apps/v1/namespaces/{namespace}/deployments/{name}` gives plural and scope; its extension gives the
 * kind.
 */
function servedKinds({ paths }: Document): readonly SchemaKind[] {
  return Object.entries(paths ?? {}).flatMap(([path, operations]) => {
    const match = /^\/apis?\/(?:[^/]+\/)?[^/]+\/(namespaces\/\{namespace\}\/)?([^/{]+)\/\{name\}$/.exec(path);
    const kind = (operations?.get as { [KIND_OF]?: GroupVersionKind } | undefined)?.[KIND_OF];
    if (match === null || kind === undefined) return [];
    return [{ ...kind, plural: match[2] as string, namespaced: match[1] !== undefined }];
  });
}
