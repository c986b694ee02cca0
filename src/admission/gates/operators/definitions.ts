/**
 * Checks whether the CustomResourceDefinitions of a version break existing versions, according to the statuses of
 * Operator and installations. Where an Approval is required, it decides; elsewhere the requester must set
 * spec.allowBreaking. Planning checks the actual state of the clusters by the same rule.
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
import { denying, warning } from './messages.ts';

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
  const what = `version "${spec.version}" has breaking changes of CustomResourceDefinitions`;
  // The comparison is with the previous version: the effect is known only where that version is installed.
  const before = versions.slice(wanted + 1).find(({ state }) => state === 'Available')?.version;
  const broken = environments.filter((environment) =>
    reachedBy(spec, known.clusters).some(
      (cluster) => cluster.spec.environment === environment && versionOn(cluster, known.installations, before),
    ),
  );
  const unasked = asksAboutBreaking === undefined ? [] : broken.filter((each) => !asksAboutBreaking(each));
  if (unasked.length === 0 || spec.allowBreaking === true) {
    const next = 'the rollout waits for an Approval where one is required';
    return { ...nothing, warnings: [warning(`${what}: ${next}`)] };
  }
  return denying([
    {
      gate: 'operators',
      code: 'BreakingCRDChange',
      reason: 'Invalid',
      field: 'spec.allowBreaking',
      message: `${what}: "${before}" is installed in ${unasked.join(', ')}, where no Approval is required`,
      next: 'Set spec.allowBreaking to true to roll it out anyway',
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
