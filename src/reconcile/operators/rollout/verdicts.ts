/** What the custom resource definitions of a version would do to those that are on a cluster. */
import { createHash } from 'node:crypto';
import type { Environment } from '../../../api/index.ts';
import { changeDigest, compareCrds, readCrd } from '../../../crd-compat/index.ts';
import type { ClusterConnection } from '../../../fleet/index.ts';
import { isNotFound, type Resource, type UnknownObject } from '../../../runtime/index.ts';
import type { Plan } from './rollout.ts';

export type DefinitionVerdict = NonNullable<Plan['definitions']>[number];

export const definitionResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** Most clusters have the same definitions: each pair is compared once. */
const mostKept = 512;
/** As much as somebody reads. */
const mostChanges = 8;

export class Verdicts {
  readonly #known = new Map<string, DefinitionVerdict>();
  readonly #onValidated: () => void;

  /** `onValidated`: told of each verdict, also where there is nothing to compare with or the pair is known already. */
  constructor(onValidated: () => void = () => {}) {
    this.#onValidated = onValidated;
  }

  /** Of each definition, against the one of that name on the cluster. */
  async on(
    { client }: ClusterConnection,
    definitions: readonly UnknownObject[],
    signal?: AbortSignal,
  ): Promise<DefinitionVerdict[]> {
    const verdicts: DefinitionVerdict[] = [];
    for (const definition of definitions) {
      const { name } = definition.metadata;
      const before = await client
        .get<UnknownObject>(definitionResource, { name }, signal === undefined ? {} : { signal })
        .catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
      verdicts.push(before === undefined ? { name, verdict: 'created' } : this.#compare(before, definition));
      this.#onValidated();
    }
    return verdicts;
  }

  #compare(before: UnknownObject, after: UnknownObject): DefinitionVerdict {
    const key = createHash('sha256')
      .update(JSON.stringify([before.spec, after.spec]))
      .digest('hex');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const verdict = compared(before, after);
    if (this.#known.size >= mostKept) this.#known.clear();
    this.#known.set(key, verdict);
    return verdict;
  }
}

function compared(before: UnknownObject, after: UnknownObject): DefinitionVerdict {
  const { name } = after.metadata;
  const [one, other] = [readCrd(before), readCrd(after)];
  if (one.crd === undefined || other.crd === undefined) {
    // What cannot be read cannot be called harmless.
    const summary = [...one.issues, ...other.issues].map(({ path, message }) => `${path}: ${message}`).join('; ');
    return { name, verdict: 'breaking', summary: summary.slice(0, 4096) };
  }
  const { verdict, changes, digest } = compareCrds(one.crd, other.crd);
  if (changes.length === 0) return { name, verdict: 'unchanged', digest: changeDigest(one.crd, other.crd) };
  const told = changes.filter((change) => change.class === verdict).slice(0, mostChanges);
  const summary = told.map(({ message }) => message).join('; ');
  return { name, verdict, digest, summary: summary.slice(0, 4096) };
}

const order = ['created', 'unchanged', 'safe', 'risky', 'breaking'] as const;

/** The worse of the two, whatever cluster it is from. */
export function worseOf(one: DefinitionVerdict | undefined, other: DefinitionVerdict): DefinitionVerdict {
  if (one === undefined) return other;
  return order.indexOf(other.verdict) > order.indexOf(one.verdict) ? other : one;
}

/** Definitions that would break somebody on a cluster, which nobody was told of when the rollout was planned. */
export function unforeseen(
  plan: Plan,
  environment: Environment,
  found: readonly DefinitionVerdict[],
): DefinitionVerdict[] {
  const isKnown = ({ name }: DefinitionVerdict) =>
    (plan.definitions ?? []).some((each) => each.name === name && each.environments?.includes(environment) === true);
  return found.filter((each) => each.verdict === 'breaking' && !isKnown(each));
}
