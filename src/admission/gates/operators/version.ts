/** Whether the version of a rollout is there, as far as the status of its Operator tells. */
import { type Operator, type OperatorDeployment, sameVersion } from '../../../api/index.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import { mostNamed, refusing, warning } from './messages.ts';

export function checkVersion(spec: OperatorDeployment['spec'], found: Operator | undefined): Findings {
  const { operator: name, version } = spec;
  if (found === undefined)
    return {
      ...nothing,
      warnings: [warning(`there is no Operator "${name}" yet: the rollout waits in Planning for it`)],
    };
  const is = (each: { version: string }) => sameVersion(each.version, version);
  const listed = found.spec.versions;
  const looked = found.status?.versions;
  const known = looked?.find(is);
  if (known !== undefined && (known.state === 'Missing' || known.state === 'Invalid')) {
    const why = known.message === undefined ? '' : `: ${known.message}`;
    const what = known.state === 'Missing' ? 'is not in its repository' : 'cannot be installed';
    return versionRefused(`version "${version}" of Operator "${name}" ${what}${why}`, found);
  }
  if (listed !== undefined && !listed.some(is))
    return versionRefused(`Operator "${name}" does not list version "${version}"`, found);
  if (known === undefined && looked !== undefined && isReached(found))
    return versionRefused(`Operator "${name}" has no version "${version}"`, found);
  if (known === undefined)
    return {
      ...nothing,
      warnings: [
        warning(
          `whether Operator "${name}" has version "${version}" is not known yet: the rollout waits in Planning until it is`,
        ),
      ],
    };
  if (known.doesNotRender === undefined || bringsValues(spec)) return nothing;
  const why = known.doesNotRender.slice(0, mostOfReason);
  return {
    ...nothing,
    warnings: [
      warning(
        `version "${version}" does not render with the values of its chart alone, and spec.values brings no others: the rollout waits in Planning. ${why}`,
      ),
    ],
  };
}

/** With values of its own a chart may render that does not without. */
const bringsValues = ({ values, environmentValues, valuesSecret }: OperatorDeployment['spec']): boolean =>
  valuesSecret !== undefined || [values, ...Object.values(environmentValues ?? {})].some((each) => !isEmpty(each));

const isEmpty = (values: object | undefined): boolean => Object.keys(values ?? {}).length === 0;

/** An API server shows the beginning of a warning; the whole reason is in the status of the Operator. */
const mostOfReason = 200;

/** Whether its repository was reached for the Operator as it is now: what is not in its list then is not there. */
const isReached = ({ status, metadata }: Operator): boolean =>
  status?.observedGeneration === metadata.generation &&
  status?.conditions?.some(({ type, status: holds }) => type === 'RepositoryReachable' && holds === 'True') === true;

function versionRefused(message: string, { spec, status }: Operator): Findings {
  const available = (status?.versions ?? []).filter(({ state }) => state === 'Available' || state === 'Listed');
  const names = (available.length > 0 ? available : (spec.versions ?? [])).map((each) => each.version);
  const some = names.slice(0, mostNamed).join(', ');
  const next = some === '' ? 'See its status' : `There is ${some}${names.length > mostNamed ? ', …' : ''}`;
  return refusing([
    { gate: 'operators', code: 'VersionMissing', reason: 'Invalid', field: 'spec.version', message, next },
  ]);
}
