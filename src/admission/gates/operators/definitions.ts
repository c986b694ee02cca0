/**
 * Whether the definitions of a version break what is there, as far as the statuses tell. Who is asked decides where somebody is; where nobody
 * is, whoever starts the rollout has to say so. What is really on the clusters Planning finds out, by the same rule.
 */
import {
  type Cluster,
  type Environment,
  environments,
  type Operator,
  type OperatorDeployment,
  type OperatorInstallation,
  sameVersion,
} from '../../../api/index.ts';
import type { LabelSelector } from '../../../policy/index.ts';
import { selects } from '../../../policy/internal.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import { refusing, warning } from './messages.ts';

type Spec = OperatorDeployment['spec'];

interface Known {
  readonly operator: Operator | undefined;
  readonly clusters: readonly Cluster[];
  readonly installations: readonly OperatorInstallation[];
}

export function checkDefinitions(
  spec: Spec,
  known: Known,
  asksAboutBreaking: ((environment: Environment) => boolean) | undefined,
): Findings {
  const versions = known.operator?.status?.versions ?? [];
  const wanted = versions.findIndex(({ version }) => sameVersion(version, spec.version));
  if (versions[wanted]?.compatibility !== 'breaking') return nothing;
  const what = `version "${spec.version}" changes custom resource definitions in a way that breaks those who use them`;
  // It was compared with the version before it: only where that one is there is it known what becomes of it.
  const before = versions.slice(wanted + 1).find(({ state }) => state === 'Available')?.version;
  const broken = environments.filter((environment) =>
    reachedBy(spec, known.clusters).some(
      (cluster) => cluster.spec.environment === environment && versionOn(cluster, known.installations, before),
    ),
  );
  const unasked = asksAboutBreaking === undefined ? [] : broken.filter((each) => !asksAboutBreaking(each));
  if (unasked.length === 0 || spec.allowBreaking === true) {
    const next = 'where an Approval is asked for, the rollout waits for it';
    return { ...nothing, warnings: [warning(`${what}: ${next}`)] };
  }
  return refusing([
    {
      gate: 'operators',
      code: 'BreakingDefinitions',
      reason: 'Invalid',
      field: 'spec.allowBreaking',
      message: `${what}: "${before}" is there in ${unasked.join(', ')}, and nobody is asked there`,
      next: 'Set spec.allowBreaking to true if that is meant',
    },
  ]);
}

function versionOn(
  { metadata }: Cluster,
  installations: readonly OperatorInstallation[],
  version: string | undefined,
): boolean {
  const found = installations.find(({ spec }) => spec.cluster === metadata.name)?.spec.version;
  return found !== undefined && version !== undefined && sameVersion(found, version);
}

const reachedBy = ({ clusters: names, clusterSelector, environments: only }: Spec, all: readonly Cluster[]) =>
  all.filter(({ metadata, spec: { environment } }) => {
    if (only !== undefined && !only.includes(environment)) return false;
    if (names !== undefined) return names.includes(metadata.name);
    return selects((clusterSelector ?? {}) as LabelSelector, metadata.labels ?? {});
  });
