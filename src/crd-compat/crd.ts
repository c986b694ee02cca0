/**
 * The part of a CustomResourceDefinition of apiextensions.k8s.io/v1 that a comparison reads. `readCrd` returns one for
 * a parsed document.
 */
import type { CrdSchema } from './schema.ts';

export interface Crd {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: CrdSpec;
  readonly status?: { readonly storedVersions?: readonly string[] };
}

export interface CrdSpec {
  readonly group: string;
  readonly scope: string;
  readonly names: CrdNames;
  readonly versions: readonly CrdVersion[];
  readonly conversion?: CrdConversion;
  readonly preserveUnknownFields?: boolean;
}

export interface CrdNames {
  readonly plural: string;
  readonly kind: string;
  readonly singular?: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export interface CrdConversion {
  readonly strategy?: string;
  readonly webhook?: { readonly clientConfig?: unknown; readonly conversionReviewVersions?: readonly string[] };
}

export interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: CrdSchema };
  readonly subresources?: CrdSubresources;
  readonly additionalPrinterColumns?: readonly CrdPrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

export interface CrdSubresources {
  readonly status?: unknown;
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath?: string;
  };
}

export interface CrdPrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly description?: string;
  readonly format?: string;
  readonly priority?: number;
}

export const schemaOf = (version: CrdVersion): CrdSchema | undefined => version.schema?.openAPIV3Schema;

export const storageVersion = (crd: Crd): CrdVersion | undefined => crd.spec.versions.find(({ storage }) => storage);

export const conversionStrategy = (crd: Crd): string => crd.spec.conversion?.strategy ?? 'None';
