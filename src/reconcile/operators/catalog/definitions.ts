/** The CRDs of a version: their description in the status, and their compatibility with the previous version. */
import { mostDefinitionsOfAnOperator } from '../../../api/index.ts';
import { type ChangeClass, changeDigest, compareCrds, readCrd, worst } from '../../../crd-compat/index.ts';
import type { UnknownObject } from '../../../runtime/index.ts';
import type { KnownVersion } from './versions.ts';

type DescribedCrd = NonNullable<KnownVersion['definitions']>[number];

/** Describes the CRDs, sorted by name. A CRD that cannot be read makes the version invalid. */
export function describeDefinitions(definitions: readonly UnknownObject[]): {
  readonly described: readonly DescribedCrd[];
  readonly problem?: string;
} {
  const described: DescribedCrd[] = [];
  for (const definition of definitions) {
    const { crd, issues } = readCrd(definition);
    if (crd === undefined) {
      const [issue] = issues;
      return {
        described: [],
        problem: `CRD ${definition.metadata.name} is invalid: ${issue?.message} ${issue?.next}`,
      };
    }
    const versions = crd.spec.versions.filter(({ served }) => served).map(({ name }) => name);
    described.push({ name: crd.metadata.name, digest: changeDigest(undefined, crd), versions: versions.slice(0, 32) });
  }
  described.sort((one, other) => (one.name < other.name ? -1 : 1));
  return { described: described.slice(0, mostDefinitionsOfAnOperator) };
}

/**
 * Returns the worst verdict. A CRD that the new version does not contain stays on the clusters, so nothing breaks, but
 * the new controllers might not reconcile it: that is risky. Yields to the event loop between comparisons.
 * `onValidated` is called for each.
 */
export async function compatibilityOf(
  before: readonly UnknownObject[],
  after: readonly UnknownObject[],
  onValidated: () => void = () => {},
): Promise<ChangeClass> {
  const classes: ChangeClass[] = [];
  for (const definition of before) {
    const next = after.find(({ metadata }) => metadata.name === definition.metadata.name);
    const [one, other] = [readCrd(definition).crd, next === undefined ? undefined : readCrd(next).crd];
    if (one === undefined || other === undefined) classes.push('risky');
    else classes.push(compareCrds(one, other, { witnesses: false }).verdict);
    onValidated();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return worst(classes);
}
