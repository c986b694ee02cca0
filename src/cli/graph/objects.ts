/** Reads the objects of the platform from manifests or from a cluster. */
import { GROUP, kindNamed, schemaFor, type Team, team } from '../../api/index.ts';
import { nearest } from '../../cel/internal.ts';
import { describeObject, ownedKinds } from '../../reconcile/index.ts';
import { ApiError, type Client, eachObject, type KubernetesObject } from '../../runtime/index.ts';
import { coreNamespaces as namespaces } from '../../runtime/internal.ts';
import { InputError } from '../common/failure.ts';
import { inputErrorOf, type LocatedObject, type Problem, problemAt, readObjects } from '../documents/index.ts';

/** `objectsInFiles` reads the objects of the platform; other kinds are ignored. Each must be valid, or the graph would be wrong. */
export async function objectsInFiles(
  paths: readonly string[],
  standardInput: NodeJS.ReadableStream,
): Promise<KubernetesObject[]> {
  const located = (await readObjects(paths, standardInput)).filter(({ object }) => isOfPlatform(object));
  if (located.length === 0) {
    throw new InputError('nothing', `${paths.join(', ')}: no Team, Application or resource of the platform found.`);
  }
  const wrong = await problemsOf(located);
  if (wrong.length > 0) throw inputErrorOf(wrong);
  return located.map(({ object }) => named(object));
}

async function problemsOf(located: readonly LocatedObject[]): Promise<Problem[]> {
  const { Ajv } = await import('ajv');
  // Additional fields of a live object, such as managedFields or fields of a newer version, are allowed.
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();
  return located.flatMap((each) => {
    const kind = kindNamed(each.object.kind);
    if (kind === undefined) return [];
    const validate = validators.get(kind.kind) ?? ajv.compile(schemaFor(kind));
    validators.set(kind.kind, validate);
    validate(each.object);
    return (validate.errors ?? [])
      .filter(({ keyword }) => keyword !== 'additionalProperties')
      .map(({ instancePath, message }) => {
        const field = instancePath.slice(1).replaceAll('/', '.');
        const words = `${describeObject(each.object)}: ${field === '' ? 'it' : field} ${message ?? 'is wrong'}.`;
        return problemAt(each, 'schema', field, words);
      });
  });
}

/** `named` gives an object with generateName a placeholder name. */
function named(object: KubernetesObject): KubernetesObject {
  const { name, generateName = '' } = object.metadata as { name?: string; generateName?: string };
  return name === undefined ? { ...object, metadata: { ...object.metadata, name: `${generateName}…` } } : object;
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
        `this cluster does not serve ${resource.plural}.${resource.group}: install the CRDs of the platform there (kubectl apply -f crds/).`,
      );
    }
  }
  return objects;
}

/** `teamNamed` finds a Team by its name or its namespace. */
export function teamNamed(name: string, objects: readonly KubernetesObject[]): Team {
  const teams = objects.filter(({ kind }) => kind === team.kind) as Team[];
  const found =
    teams.find(({ metadata }) => metadata.name === name) ?? teams.find(({ spec }) => spec.namespace === name);
  if (found !== undefined) return found;
  const names = teams.flatMap(({ metadata, spec }) => [metadata.name, spec.namespace]);
  const near = nearest(name, names);
  const known =
    names.length === 0
      ? 'there is no Team'
      : `known Teams and namespaces are ${[...new Set(names)].slice(0, 20).join(', ')}`;
  throw new InputError(
    'option',
    `--team "${name}" does not exist: ${near === undefined ? known : `did you mean ${near}?`}`,
  );
}

const isOfPlatform = ({ apiVersion, kind }: KubernetesObject): boolean =>
  (apiVersion === 'v1' && kind === 'Namespace') ||
  (apiVersion.startsWith(`${GROUP}/`) && (kind === team.kind || ownedKinds.some((each) => each.kind === kind)));
