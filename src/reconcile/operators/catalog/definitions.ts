/** The definitions that come with a version: how they are told of, and what they do to those of the version before. */
import { mostDefinitionsOfAnOperator } from '../../../api/index.ts';
import { type ChangeClass, changeDigest, compareCrds, readCrd, worst } from '../../../crd-compat/index.ts';
import type { UnknownObject } from '../../../runtime/index.ts';
import type { KnownVersion } from './versions.ts';

type Told = NonNullable<KnownVersion['definitions']>[number];

/** By name. A definition that cannot be read is why the version is invalid. */
export function describeDefinitions(definitions: readonly UnknownObject[]): {
  readonly told: readonly Told[];
  readonly problem?: string;
} {
  const told: Told[] = [];
  for (const definition of definitions) {
    const { crd, issues } = readCrd(definition);
    if (crd === undefined) {
      const [issue] = issues;
      return {
        told: [],
        problem: `The definition ${definition.metadata.name} cannot be used: ${issue?.message} ${issue?.next}`,
      };
    }
    const versions = crd.spec.versions.filter(({ served }) => served).map(({ name }) => name);
    told.push({ name: crd.metadata.name, digest: changeDigest(undefined, crd), versions: versions.slice(0, 32) });
  }
  told.sort((one, other) => (one.name < other.name ? -1 : 1));
  return { told: told.slice(0, mostDefinitionsOfAnOperator) };
}

/**
 * The worst of them. One that a version no longer brings is left where it is, so that nothing breaks by that; whether the new
 * controllers still look after it nobody knows. Lets others run in between: a comparison takes its time. `onValidated`: told of each.
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
