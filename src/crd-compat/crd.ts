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

const KUBERNETES_VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/** Orders names of versions as Kubernetes does, the preferred one first: v10, v2, v1, v11beta2, v3beta1, v12alpha1, foo1, foo10. */
function byPriority(one: string, other: string): number {
  const [left, right] = [one, other].map((name) => KUBERNETES_VERSION.exec(name));
  if (!left || !right) return left ? -1 : right ? 1 : one < other ? -1 : 1;
  const stability = (match: RegExpExecArray): number => ['alpha', 'beta', undefined].indexOf(match[2]);
  return (
    stability(right) - stability(left) ||
    Number(right[1]) - Number(left[1]) ||
    Number(right[3] ?? 0) - Number(left[3] ?? 0)
  );
}

/** `preferredVersion` returns the version that clients use if they do not name one: kubectl, backups, garbage collection. */
export const preferredVersion = (crd: Crd): CrdVersion | undefined =>
  crd.spec.versions.filter(({ served }) => served).sort((one, other) => byPriority(one.name, other.name))[0];
