/** Which versions of an Operator there are, and which of them have to be looked at. */
import { type Operator, sameVersion } from '../../../api/index.ts';
import { compareVersions, isVersion } from '../../../fleet/index.ts';

export type KnownVersion = NonNullable<NonNullable<Operator['status']>['versions']>[number];

/** As the repository lists it. */
interface ListedVersion {
  readonly version: string;
  readonly appVersion?: string;
  readonly digest?: string;
}

/** More than these are not told of: the newest. */
const mostVersions = 256;

/**
 * The newest first, each as far as it is known: what was found out about it before is kept as long as it is still the same chart. What
 * spec.versions names and the repository does not have is `Missing`.
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
    .slice(0, mostVersions) as readonly KnownVersion[];
}

/** It is to be looked at again. */
export const unchecked = ({ checkedAt: _, ...version }: KnownVersion): KnownVersion => version;

const missing = (version: string, chartVersion: string) => ({
  version,
  chartVersion,
  state: 'Missing',
  message: `The repository has no version ${chartVersion} of the chart`,
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

interface Attention {
  readonly now: number;
  /** Those that somebody is about to roll out, or has. */
  readonly named: readonly string[];
  /** How many of the newest are looked at where spec.versions does not say which. */
  readonly newest: number;
  /** What could not be used is looked at again after so long. */
  readonly againMilliseconds: number;
}

/** In the order in which they are looked at: what is named first. */
export function toLookAt(
  { spec }: Operator,
  versions: readonly KnownVersion[],
  { now, named, newest, againMilliseconds }: Attention,
): readonly KnownVersion[] {
  const isNamed = ({ version }: KnownVersion) => named.some((each) => sameVersion(each, version));
  const candidates =
    spec.versions === undefined ? versions.filter((each, index) => index < newest || isNamed(each)) : versions;
  const due = candidates.filter(({ state, checkedAt }) => {
    if (state === 'Missing') return false;
    if (checkedAt === undefined) return true;
    return state !== 'Available' && now - Date.parse(checkedAt) >= againMilliseconds;
  });
  return [...due].sort((one, other) => Number(isNamed(other)) - Number(isNamed(one)));
}
