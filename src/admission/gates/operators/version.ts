/** Checks whether the version of a rollout exists, according to the status of its Operator. */
import { type Operator, type OperatorDeployment, sameVersion } from '../../../api/index.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import { denying, mostNamed, warning } from './messages.ts';

export function checkVersion(spec: OperatorDeployment['spec'], found: Operator | undefined): Findings {
  const { operator: name, version } = spec;
  if (found === undefined)
    return {
      ...nothing,
      warnings: [warning(`Operator "${name}" does not exist yet; the rollout waits in Planning`)],
    };
  const is = (each: { version: string }) => sameVersion(each.version, version);
  const listed = found.spec.versions;
  const looked = found.status?.versions;
  const known = looked?.find(is);
  if (known !== undefined && (known.state === 'Missing' || known.state === 'Invalid')) {
    const why = known.message === undefined ? '' : `: ${known.message}`;
    const what = known.state === 'Missing' ? 'is not in its repository' : 'cannot be installed';
    return versionDenied(`version "${version}" of Operator "${name}" ${what}${why}`, found);
  }
  if (listed !== undefined && !listed.some(is))
    return versionDenied(`Operator "${name}" does not list version "${version}"`, found);
  if (known === undefined && looked !== undefined && isReached(found))
    return versionDenied(`Operator "${name}" has no version "${version}"`, found);
  if (known === undefined)
    return {
      ...nothing,
      warnings: [
        warning(
          `the versions of Operator "${name}" are not known yet, so version "${version}" could not be checked; the rollout waits in Planning`,
        ),
      ],
    };
  if (known.doesNotRender === undefined || bringsValues(spec)) return nothing;
  const why = known.doesNotRender.slice(0, mostOfReason);
  return {
    ...nothing,
    warnings: [
      warning(
        `version "${version}" does not render with the default values of its chart, and spec.values is empty; the rollout waits in Planning. ${why}`,
      ),
    ],
  };
}

/** A chart may need values in order to render. */
const bringsValues = ({ values, environmentValues, valuesSecret }: OperatorDeployment['spec']): boolean =>
  valuesSecret !== undefined || [values, ...Object.values(environmentValues ?? {})].some((each) => !isEmpty(each));

const isEmpty = (values: object | undefined): boolean => Object.keys(values ?? {}).length === 0;

/**
 * The limit of the quoted error: the API server truncates warnings, and the status of the Operator has the whole text.
 */
const mostOfReason = 200;

/**
 * Reports whether the repository was reached for the current generation of the Operator: a version that is not listed
 * then does not exist.
 */
const isReached = ({ status, metadata }: Operator): boolean =>
  status?.observedGeneration === metadata.generation &&
  status?.conditions?.some(({ type, status: holds }) => type === 'RepositoryReachable' && holds === 'True') === true;

function versionDenied(message: string, { spec, status }: Operator): Findings {
  const available = (status?.versions ?? []).filter(({ state }) => state === 'Available' || state === 'Listed');
  const names = (available.length > 0 ? available : (spec.versions ?? [])).map((each) => each.version);
  const some = names.slice(0, mostNamed).join(', ');
  const next =
    some === ''
      ? 'See the status of the Operator'
      : `Available versions: ${some}${names.length > mostNamed ? ', …' : ''}`;
  return denying([
    { gate: 'operators', code: 'VersionNotFound', reason: 'Invalid', field: 'spec.version', message, next },
  ]);
}
