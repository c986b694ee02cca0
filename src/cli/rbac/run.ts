/**
 * `kidp rbac`: policies and CRDs in, a ClusterRole out with the read access that the scan, params, context and the CRD gate need.
 *
 * Secrets of Kubernetes are left out unless they are asked for.
 */
import { combineSchemas, crdSchemas, kubernetesSchemas, platformSchemas, type StoredType } from '../../policy/index.ts';
import {
  isSecrets,
  type ReadResource,
  readRole,
  readRoleText,
  resourcesReadBy,
  typesNamedBy,
} from '../../policy/internal.ts';
import { takeInventory } from '../check/inventory.ts';
import { InputError } from '../common/failure.ts';
import type { Streams } from '../common/streams.ts';
import { inputErrorOf, type LocatedObject, readObjects } from '../documents/index.ts';

export interface RbacOptions {
  filename: string[];
  includeSecrets?: boolean;
  name: string;
  kubeconfig?: string;
}

export async function rbac(options: RbacOptions, streams: Streams): Promise<number> {
  const objects = await readObjects(options.filename, streams.in);
  const served = options.kubeconfig === undefined ? undefined : await servedBy(options.kubeconfig);
  const { resources, withoutSecrets } = readAccessFor(objects, options.includeSecrets === true, served);
  for (const policy of withoutSecrets) {
    streams.err.write(
      `${policy} reads Secrets, which are left out: existing Secrets are not scanned, and its params or context on Secrets fail. To grant it, add --include-secrets.\n`,
    );
  }
  streams.out.write(readRoleText(readRole(options.name, resources)));
  return 0;
}

/** `readAccessFor` lists the resources that the policies and CRDs among the objects take, and the policies that would read Secrets. */
export function readAccessFor(
  objects: readonly LocatedObject[],
  includeSecrets: boolean,
  served?: readonly StoredType[],
): { resources: readonly ReadResource[]; withoutSecrets: readonly string[] } {
  const { policies, problems } = takeInventory(objects);
  if (problems.length > 0) throw inputErrorOf(problems);
  const definitions = objects.map(({ object }) => object).filter(({ kind }) => kind === 'CustomResourceDefinition');
  if (policies.length === 0 && definitions.length === 0) {
    throw new InputError('no-policy', 'no policy and no CRD found: add one with -f.');
  }
  const defined = crdSchemas(definitions).kinds();
  const known = served ?? combineSchemas(crdSchemas(definitions), platformSchemas(), kubernetesSchemas()).kinds();
  const resources: ReadResource[] = defined.map(({ group, plural }) => ({ group, plural }));
  const withoutSecrets: string[] = [];
  for (const { model } of policies) {
    const isKnown = ({ group, kind }: StoredType) => known.some((each) => each.group === group && each.kind === kind);
    const types = [...known.filter(isListed), ...typesNamedBy(model).filter((type) => !isKnown(type))];
    const read = resourcesReadBy(model, types);
    if (!includeSecrets && read.some(isSecrets)) withoutSecrets.push(`${model.kind} ${model.name}`);
    resources.push(...read.filter((each) => includeSecrets || !isSecrets(each)));
  }
  return { resources, withoutSecrets };
}

/** Kinds that are answered and not stored. */
const unstored = new Set(['Binding', 'ComponentStatus']);
const isListed = ({ group, kind }: StoredType): boolean =>
  !['authentication.k8s.io', 'authorization.k8s.io'].includes(group) && !(group === '' && unstored.has(kind));

async function servedBy(kubeconfig: string): Promise<readonly StoredType[]> {
  const { withCluster } = await import('../check/cluster.ts');
  return withCluster(kubeconfig, async ({ mapping }) =>
    mapping.resources.filter(({ verbs }) => verbs.includes('list')),
  );
}
