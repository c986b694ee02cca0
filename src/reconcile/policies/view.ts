/** The interface to the live policies: `startPolicySource` of src/admission implements it, and tests do. */
import type { PolicyModel, PolicySet, SchemaSource, World } from '../../policy/index.ts';
import type { PolicyState } from '../../policy/internal.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';

export interface PolicyView {
  current(): { readonly set: PolicySet; readonly world: World };
  /** A world that can also find objects that these policies declare and that are not watched. */
  worldFor(models: readonly PolicyModel[], signal?: AbortSignal): Promise<World>;
  state(name: string): PolicyState | undefined;
  readonly mapping: ResourceMapping;
  /** Incremented with every change of the cluster's kinds. */
  readonly schemaVersion: number;
  schemas(): SchemaSource;
  subscribe(
    listener: (change: { readonly what: 'set' } | { readonly what: 'kinds'; readonly group: string }) => void,
  ): () => void;
  followObjects(listener: (apiVersion: string, kind: string) => void): () => void;
}

/** `policyId` identifies a policy of any kind: `Policy/require-backup`, `ValidatingAdmissionPolicy/p/binding`. */
export function policyId({
  kind,
  name,
  binding,
}: Pick<PolicyModel, 'kind' | 'name'> & { readonly binding?: string | undefined }): string {
  return binding === undefined ? `${kind}/${name}` : `${kind}/${name}/${binding}`;
}
