/** Builds the CustomResourceDefinition of a kind. */
import { CATEGORY, GROUP, VERSION } from './constants.ts';
import { type Kind, openApiOf, type PrinterColumn } from './kind.ts';
import type { OpenApiSchema } from './schema/index.ts';

export interface CustomResourceDefinition {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  metadata: { name: string };
  spec: {
    group: string;
    scope: 'Namespaced' | 'Cluster';
    names: {
      kind: string;
      listKind: string;
      plural: string;
      singular: string;
      shortNames: string[];
      categories: string[];
    };
    versions: {
      name: string;
      served: boolean;
      storage: boolean;
      subresources: { status: Record<string, never>; scale?: NonNullable<Kind['scale']> };
      additionalPrinterColumns: readonly PrinterColumn[];
      schema: { openAPIV3Schema: OpenApiSchema };
    }[];
  };
}

/**
 * `crdFor` uses only features that Kubernetes 1.28 supports (docs/requirements.md, 000): no selectableFields and no
 * optionalOldSelf, which older API servers reject as unknown fields.
 */
export function crdFor(kind: Kind): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: kind.scope,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: [kind.shortName],
        categories: [CATEGORY],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {}, ...(kind.scale ? { scale: kind.scale } : {}) },
          additionalPrinterColumns: kind.columns,
          schema: { openAPIV3Schema: openApiOf(kind) },
        },
      ],
    },
  };
}
