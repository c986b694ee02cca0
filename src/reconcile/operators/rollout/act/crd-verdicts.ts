/** `CrdVerdicts` compares the CRDs of a version with those on a cluster. */
import { createHash } from 'node:crypto';
import { type Environment, environments } from '../../../../api/index.ts';
import { changeDigest, compareCrds, readCrd } from '../../../../crd-compat/index.ts';
import type { ClusterConnection } from '../../../../fleet/index.ts';
import { isNotFound, type Resource, type UnknownObject } from '../../../../runtime/index.ts';
import type { Plan } from '../rollout.ts';

/** The verdict on a CRD in the plan, over all clusters. */
export type PlannedDefinition = NonNullable<Plan['definitions']>[number];

/** The verdict on a CRD on one cluster. */
export interface DefinitionVerdict extends Omit<PlannedDefinition, 'environments' | 'breaks'> {
  /** The digest of the breaking changes only; undefined if there are none. */
  readonly breakingDigest?: string;
}

export const definitionResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** The number of cached comparisons: most clusters have the same CRDs. */
const maxCached = 512;
/** The number of changes in a summary. */
const maxChanges = 8;

export class CrdVerdicts {
  readonly #known = new Map<string, DefinitionVerdict>();
  readonly #onValidated: () => void;

  /** `onValidated` is called for each verdict, also if there is nothing to compare with or the comparison is cached. */
  constructor(onValidated: () => void = () => {}) {
    this.#onValidated = onValidated;
  }

  /** Compares each CRD with the one of the same name on the cluster. */
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
      verdicts.push(before === undefined ? { name, verdict: 'created' } : this.compare(before, definition));
      this.#onValidated();
    }
    return verdicts;
  }

  compare(before: UnknownObject, after: UnknownObject): DefinitionVerdict {
    const key = createHash('sha256')
      .update(JSON.stringify([before.spec, after.spec]))
      .digest('hex');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const verdict = compareDefinitions(before, after);
    if (this.#known.size >= maxCached) this.#known.clear();
    this.#known.set(key, verdict);
    return verdict;
  }
}

function compareDefinitions(before: UnknownObject, after: UnknownObject): DefinitionVerdict {
  const { name } = after.metadata;
  const [one, other] = [readCrd(before), readCrd(after)];
  if (one.crd === undefined || other.crd === undefined) {
    // A CRD that cannot be read cannot be called safe.
    const summary = [...one.issues, ...other.issues].map(({ path, message }) => `${path}: ${message}`).join('; ');
    return { name, verdict: 'breaking', summary: summary.slice(0, 4096), breakingDigest: digestOf([name, summary]) };
  }
  const { verdict, changes, digest } = compareCrds(one.crd, other.crd);
  if (changes.length === 0) return { name, verdict: 'unchanged', digest: changeDigest(one.crd, other.crd) };
  const listed = changes.filter((change) => change.class === verdict).slice(0, maxChanges);
  const summary = listed
    .map(({ version, path, message }) => `${`${version} ${path}`.trim()}: ${message.replace(/\.$/, '')}`)
    .join('; ');
  const found = { name, verdict, digest, summary: summary.slice(0, 4096) };
  if (verdict !== 'breaking') return found;
  const breaking = changes.filter((change) => change.class === 'breaking');
  const what = breaking.map(({ version, path, kind, before: was, after: is }) => [version, path, kind, was, is]);
  return { ...found, breakingDigest: digestOf([name, what]) };
}

function digestOf(value: unknown): string {
  const text = JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each));
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

const order = ['created', 'unchanged', 'safe', 'risky', 'breaking'] as const;

/** The maximum of different breaking changes of a CRD in a plan. */
export const maxBreaks = 64;

/** Merges the verdicts on a CRD over all clusters: the worst verdict, and every distinct set of breaking changes. */
export function plannedDefinition(
  found: readonly { readonly environment: Environment; readonly verdict: DefinitionVerdict }[],
): PlannedDefinition | undefined {
  const rank = ({ verdict }: DefinitionVerdict) => order.indexOf(verdict);
  // The order of responses must not change the plan.
  const [worst] = found
    .map(({ verdict }) => verdict)
    .sort((one, other) => rank(other) - rank(one) || ((one.digest ?? '') < (other.digest ?? '') ? -1 : 1));
  if (worst === undefined) return undefined;
  const { breakingDigest: _, ...rest } = worst;
  const breaking = found.filter(({ verdict }) => verdict.verdict === 'breaking');
  if (breaking.length === 0) return rest;
  const breaks = new Map(
    breaking.map(({ environment, verdict: { breakingDigest: digest = '' } }) => [
      `${environment} ${digest}`,
      { environment, digest },
    ]),
  );
  return {
    ...rest,
    // The approver sees the breaking changes of all clusters.
    summary: [...new Set(breaking.map(({ verdict }) => verdict.summary ?? ''))].sort().join('; ').slice(0, 4096),
    environments: environments.filter((each) => breaking.some(({ environment }) => environment === each)),
    breaks: [...breaks].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each),
  };
}

/** The CRDs with breaking changes on a cluster that the plan does not list. */
export function unplannedBreaks(
  plan: Pick<Plan, 'definitions'>,
  environment: Environment,
  found: readonly DefinitionVerdict[],
): DefinitionVerdict[] {
  const isKnown = ({ name, breakingDigest }: DefinitionVerdict) =>
    (plan.definitions ?? []).some(
      ({ name: of, breaks = [] }) =>
        of === name && breaks.some((each) => each.environment === environment && each.digest === breakingDigest),
    );
  return found.filter((each) => each.verdict === 'breaking' && !isKnown(each));
}
