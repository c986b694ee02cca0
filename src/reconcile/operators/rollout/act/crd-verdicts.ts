/** What the custom resource definitions of a version would do to those that are on a cluster. */
import { createHash } from 'node:crypto';
import { type Environment, environments } from '../../../../api/index.ts';
import { changeDigest, compareCrds, readCrd } from '../../../../crd-compat/index.ts';
import type { ClusterConnection } from '../../../../fleet/index.ts';
import { isNotFound, type Resource, type UnknownObject } from '../../../../runtime/index.ts';
import type { Plan } from '../rollout.ts';

/** What the plan says of a definition, over all clusters. */
export type PlannedDefinition = NonNullable<Plan['definitions']>[number];

/** What is found out about a definition on one cluster. */
export interface DefinitionVerdict extends Omit<PlannedDefinition, 'environments' | 'breaks'> {
  /** The digest of all that breaks, where something does: what else changes does not matter to it. */
  readonly broken?: string;
}

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
    return { name, verdict: 'breaking', summary: summary.slice(0, 4096), broken: digestOf([name, summary]) };
  }
  const { verdict, changes, digest } = compareCrds(one.crd, other.crd);
  if (changes.length === 0) return { name, verdict: 'unchanged', digest: changeDigest(one.crd, other.crd) };
  const told = changes.filter((change) => change.class === verdict).slice(0, mostChanges);
  const summary = told
    .map(({ version, path, message }) => `${`${version} ${path}`.trim()}: ${message.replace(/\.$/, '')}`)
    .join('; ');
  const found = { name, verdict, digest, summary: summary.slice(0, 4096) };
  if (verdict !== 'breaking') return found;
  const breaking = changes.filter((change) => change.class === 'breaking');
  const what = breaking.map(({ version, path, kind, before: was, after: is }) => [version, path, kind, was, is]);
  return { ...found, broken: digestOf([name, what]) };
}

function digestOf(value: unknown): string {
  const text = JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each));
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

const order = ['created', 'unchanged', 'safe', 'risky', 'breaking'] as const;

/** As many different ways to break as the plan has room for. */
export const mostBreaks = 64;

/** What becomes of a definition over all clusters: the worst, and every way in which it breaks somebody. */
export function plannedDefinition(
  found: readonly { readonly environment: Environment; readonly verdict: DefinitionVerdict }[],
): PlannedDefinition | undefined {
  const rank = ({ verdict }: DefinitionVerdict) => order.indexOf(verdict);
  // Whoever answers first, the plan is the same.
  const [worst] = found
    .map(({ verdict }) => verdict)
    .sort((one, other) => rank(other) - rank(one) || ((one.digest ?? '') < (other.digest ?? '') ? -1 : 1));
  if (worst === undefined) return undefined;
  const { broken: _, ...rest } = worst;
  const breaking = found.filter(({ verdict }) => verdict.verdict === 'breaking');
  if (breaking.length === 0) return rest;
  const breaks = new Map(
    breaking.map(({ environment, verdict: { broken: digest = '' } }) => [
      `${environment} ${digest}`,
      { environment, digest },
    ]),
  );
  return {
    ...rest,
    // Who is asked is told of all of them.
    summary: [...new Set(breaking.map(({ verdict }) => verdict.summary ?? ''))].sort().join('; ').slice(0, 4096),
    environments: environments.filter((each) => breaking.some(({ environment }) => environment === each)),
    breaks: [...breaks].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each),
  };
}

/** Definitions that would break somebody on a cluster in a way that nobody was told of when the rollout was planned. */
export function unforeseen(
  plan: Pick<Plan, 'definitions'>,
  environment: Environment,
  found: readonly DefinitionVerdict[],
): DefinitionVerdict[] {
  const isKnown = ({ name, broken }: DefinitionVerdict) =>
    (plan.definitions ?? []).some(
      ({ name: of, breaks = [] }) =>
        of === name && breaks.some((each) => each.environment === environment && each.digest === broken),
    );
  return found.filter((each) => each.verdict === 'breaking' && !isKnown(each));
}
