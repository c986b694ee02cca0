/** Maps kinds to resources: Policies and Gatekeeper name kinds, native policies and Kyverno name resources. */
import { pluralOf } from '../native/plural.ts';
import type { Json } from '../request.ts';
import { kubernetesSchemas } from '../typecheck/kubernetes-schemas.ts';
import { combineSchemas, crdSchemas, platformSchemas } from '../typecheck/schemas.ts';

interface KnownKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The kinds of Kubernetes, of the platform, and of CRDs in the input. */
export class Kinds {
  readonly #kinds: readonly KnownKind[];

  constructor(objects: readonly Json[]) {
    this.#kinds = combineSchemas(crdSchemas(objects), platformSchemas(), kubernetesSchemas()).kinds();
  }

  /** Returns the kind of a resource; `*` is any group. */
  ofResource(group: string, resource: string): KnownKind | undefined {
    return this.#kinds.find((each) => (group === '*' || each.group === group) && each.plural === resource);
  }

  ofKind(group: string, kind: string): KnownKind | undefined {
    return this.#kinds.find((each) => (group === '*' || each.group === group) && each.kind === kind);
  }

  /** Returns the resource of a kind, and whether it was guessed. */
  resourceOf(group: string, kind: string): { readonly resource: string; readonly guessed: boolean } {
    if (kind === '*') return { resource: '*', guessed: false };
    const known = this.ofKind(group, kind);
    return known === undefined
      ? { resource: pluralOf(kind), guessed: true }
      : { resource: known.plural, guessed: false };
  }
}
