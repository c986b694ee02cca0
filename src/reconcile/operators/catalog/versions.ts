/** Lists the versions of an Operator and selects the ones to inspect. */
import { type Operator, sameVersion } from '../../../api/index.ts';
import { compareVersions, isVersion } from '../../../fleet/index.ts';

export type KnownVersion = NonNullable<NonNullable<Operator['status']>['versions']>[number];

/** A version in the index of the repository. */
interface ListedVersion {
  readonly version: string;
  readonly appVersion?: string;
  readonly digest?: string;
}

/** The maximum of versions in the status: the newest ones. */
const maxVersions = 256;

/**
 * Lists the versions, the newest first. What is known about a version is kept as long as its chart is the same. A
 * version in spec.versions that the repository does not have is `Missing`.
 */
export function versionsOf(
  { spec, status, metadata }: Operator,
  listed: readonly ListedVersion[],
): readonly KnownVersion[] {
  const isSameSpec = status?.observedGeneration === metadata.generation;
  const known = (status?.versions ?? []).map((each) => (isSameSpec ? each : unchecked(each)));
  const wanted =
    spec.versions?.map(({ version, chartVersion = version }) => ({ version, chartVersion })) ??
    listed.filter(({ version }) => isVersion(version)).map(({ version }) => ({ version, chartVersion: version }));
  return wanted
    .map(({ version, chartVersion }) => {
      const found =
        listed.find((each) => each.version === chartVersion) ??
        listed.find((each) => sameVersion(each.version, chartVersion));
      const before = known.find(
        (each) => each.version === version && each.chartVersion === (found?.version ?? chartVersion),
      );
      return found === undefined ? missing(version, chartVersion) : listedAs(version, found, before);
    })
    .sort((one, other) => compareVersions(other.version, one.version) || (one.version < other.version ? -1 : 1))
    .slice(0, maxVersions) as readonly KnownVersion[];
}

/** Marks a version to be inspected again. */
export const unchecked = ({ checkedAt: _, ...version }: KnownVersion): KnownVersion => version;

const missing = (version: string, chartVersion: string) => ({
  version,
  chartVersion,
  state: 'Missing',
  message: `the repository has no version ${chartVersion} of the chart`,
});

function listedAs(version: string, found: ListedVersion, before: KnownVersion | undefined) {
  const isSame = before?.digest === undefined || found.digest === undefined || before.digest === found.digest;
  const { appVersion } = found;
  const fresh = {
    version,
    chartVersion: found.version,
    ...(appVersion === undefined ? {} : { appVersion }),
    state: 'Listed',
  };
  return before === undefined || !isSame || before.state === 'Missing' ? fresh : { ...fresh, ...before };
}

interface Selection {
  readonly now: number;
  /** The versions that rollouts or installations use. */
  readonly named: readonly string[];
  /** The number of newest versions to inspect if spec.versions is not set. */
  readonly newest: number;
  /** The delay before an unusable version is inspected again. */
  readonly recheckMilliseconds: number;
}

/** The versions to inspect, in order: versions in use first. */
export function versionsToInspect(
  { spec }: Operator,
  versions: readonly KnownVersion[],
  { now, named, newest, recheckMilliseconds }: Selection,
): readonly KnownVersion[] {
  const isNamed = ({ version }: KnownVersion) => named.some((each) => sameVersion(each, version));
  const candidates =
    spec.versions === undefined ? versions.filter((each, index) => index < newest || isNamed(each)) : versions;
  const due = candidates.filter(({ state, checkedAt }) => {
    if (state === 'Missing') return false;
    if (checkedAt === undefined) return true;
    return state !== 'Available' && now - Date.parse(checkedAt) >= recheckMilliseconds;
  });
  return [...due].sort((one, other) => Number(isNamed(other)) - Number(isNamed(one)));
}
