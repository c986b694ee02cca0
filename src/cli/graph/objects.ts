/** The objects of the platform, from manifests or from a cluster. */
import { GROUP, type Team, team } from '../../api/index.ts';
import { nearest } from '../../cel/index.ts';
import { ownedKinds } from '../../reconcile/index.ts';
import { ApiError, type Client, eachObject, type KubernetesObject, type Resource } from '../../runtime/index.ts';
import { readObjects } from '../documents.ts';
import { InputError } from '../failure.ts';

const namespaces: Resource = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };

/** Objects of other kinds are left out; so is a namespace, except where it says whose it is. */
export async function objectsInFiles(
  paths: readonly string[],
  standardInput: NodeJS.ReadableStream,
): Promise<KubernetesObject[]> {
  const located = await readObjects(paths, standardInput);
  const found = located.map(({ object }) => object).filter(isOfPlatform);
  if (found.length > 0) return found.map(withSpec);
  throw new InputError(
    'nothing',
    `${paths.join(', ')}: there is no Team, Application or resource of the platform in there.`,
  );
}

export async function objectsInCluster(client: Client): Promise<KubernetesObject[]> {
  const objects: KubernetesObject[] = [];
  for (const resource of [namespaces, team.resource, ...ownedKinds.map((kind) => kind.resource)]) {
    try {
      await eachObject(client, resource, {}, (object) => objects.push(object));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      throw new InputError(
        'cluster',
        `this cluster does not know ${resource.plural}.${resource.group}: install the kinds of the platform there (kubectl apply --server-side -f manifests/crds).`,
      );
    }
  }
  return objects;
}

/** By its name, or by its namespace. */
export function teamNamed(name: string, objects: readonly KubernetesObject[]): Team {
  const teams = objects.filter(({ kind }) => kind === team.kind) as Team[];
  const found =
    teams.find(({ metadata }) => metadata.name === name) ?? teams.find(({ spec }) => spec.namespace === name);
  if (found !== undefined) return found;
  const names = teams.flatMap(({ metadata, spec }) => [metadata.name, spec.namespace]);
  const near = nearest(name, names);
  const known =
    names.length === 0 ? 'there is no Team at all' : `known are ${[...new Set(names)].slice(0, 20).join(', ')}`;
  throw new InputError(
    'option',
    `--team "${name}" is not there: ${near === undefined ? known : `did you mean ${near}?`}`,
  );
}

const isOfPlatform = ({ apiVersion, kind }: KubernetesObject): boolean =>
  (apiVersion === 'v1' && kind === 'Namespace') ||
  (apiVersion.startsWith(`${GROUP}/`) && (kind === team.kind || ownedKinds.some((each) => each.kind === kind)));

/** A manifest may be half written; where it has no spec, it says nothing. */
const withSpec = (object: KubernetesObject): KubernetesObject => {
  const { spec } = object as { spec?: unknown };
  return typeof spec === 'object' && spec !== null ? object : ({ ...object, spec: {} } as KubernetesObject);
};
