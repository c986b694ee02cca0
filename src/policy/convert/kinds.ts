/** Kinds and their resources: our policies and Gatekeeper name the one, native ones and Kyverno's the other. */
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

  /** `*` stands for any group. */
  ofResource(group: string, resource: string): KnownKind | undefined {
    return this.#kinds.find((each) => (group === '*' || each.group === group) && each.plural === resource);
  }

  ofKind(group: string, kind: string): KnownKind | undefined {
    return this.#kinds.find((each) => (group === '*' || each.group === group) && each.kind === kind);
  }

  /** The resource of a kind, and whether that is only a guess. */
  resourceOf(group: string, kind: string): { readonly resource: string; readonly guessed: boolean } {
    if (kind === '*') return { resource: '*', guessed: false };
    const known = this.ofKind(group, kind);
    return known === undefined
      ? { resource: pluralOf(kind), guessed: true }
      : { resource: known.plural, guessed: false };
  }
}
