/** The plurals by which native policies name resources, as far as the files define them. */
import { GROUP, kindNamed } from '../../api/index.ts';
import type { Json } from '../../policy/index.ts';
import { pluralOf } from '../../policy/internal.ts';

/** What CustomResourceDefinitions say of their kinds, by `group/Kind`. */
export function pluralsOf(objects: readonly Json[]): [string, string][] {
  return objects.flatMap(({ kind, spec }): [string, string][] => {
    if (kind !== 'CustomResourceDefinition') return [];
    const { group, names } = (spec ?? {}) as { group?: string; names?: { kind?: string; plural?: string } };
    return names?.plural === undefined ? [] : [[`${group}/${names.kind}`, names.plural]];
  });
}

export function kindOf(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  plurals: ReadonlyMap<string, string>,
) {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const ours = group === GROUP ? kindNamed(kind)?.resource.plural : undefined;
  return { group, version, kind, plural: plurals.get(`${group}/${kind}`) ?? ours ?? pluralOf(kind) };
}
