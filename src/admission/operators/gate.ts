/**
 * The gate of rollouts: a version that does not exist and a configuration that contradicts itself are denied; what is not known (yet) is let in
 * with a warning, and Planning waits for it. Who takes a rollout back must hold the verb `rollback`.
 */
import {
  type Cluster,
  cluster,
  GROUP,
  type Operator,
  type OperatorDeployment,
  operator,
  operatorDeployment,
  sameVersion,
} from '../../api/index.ts';
import type { Ask } from '../../policy/index.ts';
import { type Client, isNotFound } from '../../runtime/index.ts';
import { askNobody } from '../authorize.ts';
import { type Findings, nothing, type Violation } from '../gates.ts';
import type { Deadline, LaterGate } from '../judge.ts';
import { type AdmissionRequest, isObject, type Json, type UserInfo } from '../review.ts';
import { contradictionsIn, contradictionsInOperator } from './contradictions.ts';

export const rollbackVerb = 'rollback';

interface OperatorsGateOptions {
  readonly client?: Pick<Client, 'get' | 'list'> | undefined;
  readonly ask?: ((user: UserInfo, signal: () => AbortSignal) => Ask) | undefined;
}

export function operatorsGate({ client, ask }: OperatorsGateOptions): LaterGate {
  return {
    name: 'operators',
    concerns: ({ kind, subResource, operation }) =>
      kind.group === GROUP &&
      (kind.kind === operatorDeployment.kind || kind.kind === operator.kind) &&
      subResource === undefined &&
      (operation === 'CREATE' || operation === 'UPDATE'),
    async judge(request, deadline) {
      if (request.kind.kind === operator.kind) return refusing(contradictionsInOperator(specOf<Operator>(request)));
      if (request.operation === 'UPDATE') return mayTakeBack(request, deadline, ask);
      const spec = specOf<OperatorDeployment>(request);
      const contradictions = contradictionsIn(spec);
      if (client === undefined) return refusing(contradictions);
      const known = await knownOf(spec, client, deadline);
      const found = known instanceof Error ? unknown(known) : judgeKnown(spec, known);
      return { ...found, violations: [...contradictions, ...found.violations] };
    },
  };
}

/** The schema has been asked before us: only its types are ours to trust. */
const specOf = <Kind extends { spec: unknown }>({ object }: AdmissionRequest): Kind['spec'] =>
  (object as Json & { spec: Kind['spec'] }).spec;

const refusing = (violations: readonly Violation[]): Findings =>
  violations.length === 0 ? nothing : { ...nothing, violations };

interface Known {
  readonly operator: Operator | undefined;
  readonly clusters: readonly Cluster[];
}

/** From the management cluster alone. */
async function knownOf(
  spec: OperatorDeployment['spec'],
  client: Pick<Client, 'get' | 'list'>,
  deadline: Deadline,
): Promise<Known | Error> {
  try {
    const [found, clusters] = await Promise.all([
      client.get<Operator>(operator.resource, { name: spec.operator }, { signal: deadline.signal() }).catch((error) => {
        if (isNotFound(error)) return undefined;
        throw error;
      }),
      client.list<Cluster>(cluster.resource, { signal: deadline.signal() }),
    ]);
    return { operator: found, clusters: clusters.items };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

const warning = (text: string): string => `operators: ${text}`;

const unknown = (error: Error): Findings => ({
  ...nothing,
  warnings: [
    warning(`whether this can be rolled out is not known (${error.message}); it waits in Planning until it is`),
  ],
});

function judgeKnown(spec: OperatorDeployment['spec'], known: Known): Findings {
  const version = judgeVersion(spec, known.operator);
  const clusters = judgeClusters(spec, known.clusters);
  return {
    ...nothing,
    violations: [...version.violations, ...clusters.violations],
    warnings: [...version.warnings, ...clusters.warnings],
  };
}

function judgeVersion(spec: OperatorDeployment['spec'], found: Operator | undefined): Findings {
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
  const breaks = `version "${version}" changes custom resource definitions in a way that breaks those who use them: where an Approval is asked for, the rollout waits for it`;
  const fails = `version "${version}" does not render with the values of its chart alone, and spec.values brings no others: the rollout waits in Planning. ${known.doesNotRender?.slice(0, mostOfReason)}`;
  return {
    ...nothing,
    warnings: [
      ...(known.compatibility === 'breaking' ? [warning(breaks)] : []),
      ...(known.doesNotRender !== undefined && !bringsValues(spec) ? [warning(fails)] : []),
    ],
  };
}

/** With values of its own a chart may render that does not without. */
const bringsValues = ({ values, environmentValues, valuesSecret }: OperatorDeployment['spec']): boolean =>
  valuesSecret !== undefined || [values, ...Object.values(environmentValues ?? {})].some((each) => !isEmpty(each));

const isEmpty = (values: object | undefined): boolean => Object.keys(values ?? {}).length === 0;

/** Whether its repository was reached for the Operator as it is now: what is not in its list then is not there. */
const isReached = ({ status, metadata }: Operator): boolean =>
  status?.observedGeneration === metadata.generation &&
  status?.conditions?.some(({ type, status: holds }) => type === 'RepositoryReachable' && holds === 'True') === true;

const mostNamed = 5;
/** An API server shows the beginning of a warning; the whole reason is in the status of the Operator. */
const mostOfReason = 200;

function versionRefused(message: string, { spec, status }: Operator): Findings {
  const available = (status?.versions ?? []).filter(({ state }) => state === 'Available' || state === 'Listed');
  const names = (available.length > 0 ? available : (spec.versions ?? [])).map((each) => each.version);
  const some = names.slice(0, mostNamed).join(', ');
  const next = some === '' ? 'See its status' : `There is ${some}${names.length > mostNamed ? ', …' : ''}`;
  return refusing([
    { gate: 'operators', code: 'VersionMissing', reason: 'Invalid', field: 'spec.version', message, next },
  ]);
}

function judgeClusters(spec: OperatorDeployment['spec'], all: readonly Cluster[]): Findings {
  const byName = new Map(all.map((each) => [each.metadata.name, each]));
  const { clusters: names, environments } = spec;
  const missing = (names ?? []).filter((name) => !byName.has(name));
  const outside = (names ?? []).filter((name) => {
    const environment = byName.get(name)?.spec.environment;
    return environment !== undefined && environments !== undefined && !environments.includes(environment);
  });
  const reachesProduction =
    names === undefined
      ? environments === undefined || environments.includes('Production')
      : names.some((name) => byName.get(name)?.spec.environment === 'Production');
  return {
    ...nothing,
    violations: outside.map((name) => ({
      gate: 'operators',
      code: 'Contradiction',
      reason: 'Invalid',
      field: 'spec.clusters',
      message: `Cluster "${name}" is of ${byName.get(name)?.spec.environment}, which spec.environments leaves out`,
      next: 'Leave out one or the other',
    })),
    warnings: [
      ...(missing.length === 0
        ? []
        : [
            warning(
              `there is no Cluster ${missing
                .slice(0, mostNamed)
                .map((each) => `"${each}"`)
                .join(', ')} yet: the rollout waits in Planning`,
            ),
          ]),
      ...(spec.strategy === 'Direct' && reachesProduction
        ? [
            warning(
              'the strategy Direct reaches all clusters at once and is not recommended for Production: think of Canary or Rolling',
            ),
          ]
        : []),
    ],
  };
}

/** Requirement 002: only an Admin rolls back. RBAC knows verbs, not fields, so that it has one of its own. */
async function mayTakeBack(
  request: AdmissionRequest,
  deadline: Deadline,
  ask: OperatorsGateOptions['ask'],
): Promise<Findings> {
  const asked = (object: Json | undefined) => isObject(object?.spec) && object.spec.rollback === true;
  if (!asked(request.object) || asked(request.oldObject)) return nothing;
  const { userInfo = {}, name = '' } = request;
  const asking = ask?.(userInfo, () => deadline.signal()) ?? askNobody;
  const on = { group: GROUP, resource: operatorDeployment.plural, namespace: '', name };
  const rest = { subresource: '', fieldSelector: '', labelSelector: '' };
  const [answer] = await asking([{ kind: 'resource', subject: 'requester', verb: rollbackVerb, ...on, ...rest }]);
  if (answer?.allowed === true) return { ...nothing, auditAnnotations: { rollback: userInfo.username ?? '' } };
  const why = answer?.error === undefined ? '' : ` (${answer.error})`;
  return refusing([
    {
      gate: 'operators',
      code: 'MayNotRollBack',
      field: 'spec.rollback',
      message: `"${userInfo.username ?? ''}" does not hold the verb ${rollbackVerb} on ${on.resource}.${GROUP} "${name}"${why}`,
      next: 'Let an Admin roll it back',
    },
  ]);
}
