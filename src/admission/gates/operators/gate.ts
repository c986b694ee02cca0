/**
 * The operators gate: denies a rollout of a version that does not exist, of a contradictory configuration, or with
 * breaking definitions where no Approval is required. Unknown facts are admitted with a warning, and Planning waits for
 * them. A rollback requires the verb `rollback`.
 */

import {
  type Cluster,
  cluster,
  type Environment,
  GROUP,
  OPERATOR_LABEL,
  type Operator,
  type OperatorDeployment,
  type OperatorInstallation,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../../api/index.ts';
import type { AskAuthorizer } from '../../../policy/index.ts';
import { type Client, isNotFound } from '../../../runtime/index.ts';
import type { Deadline } from '../../review/deadline.ts';
import { type AdmissionRequest, isObject, type Json, type UserInfo } from '../../review/decode.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import { denyAccess } from '../access.ts';
import type { AsyncGate } from '../gate.ts';
import { lookupFailure } from '../lookup-failure.ts';
import { contradictionsIn, contradictionsInOperator } from './contradictions.ts';
import { checkDefinitions } from './definitions.ts';
import { denying, mostNamed, warning } from './messages.ts';
import { checkVersion } from './version.ts';

const rollbackVerb = 'rollback';

interface OperatorsGateOptions {
  readonly client?: Pick<Client, 'get' | 'list'> | undefined;
  readonly ask?: ((user: UserInfo, signal: () => AbortSignal) => AskAuthorizer) | undefined;
  /** Reports whether breaking definitions require an Approval in an environment. If omitted, this is unknown. */
  readonly asksAboutBreaking?: ((environment: Environment) => boolean) | undefined;
}

export function operatorsGate({ client, ask, asksAboutBreaking }: OperatorsGateOptions): AsyncGate {
  return {
    name: 'operators',
    matches: ({ kind, subResource, operation }) =>
      kind.group === GROUP &&
      (kind.kind === operatorDeployment.kind || kind.kind === operator.kind) &&
      subResource === undefined &&
      (operation === 'CREATE' || operation === 'UPDATE'),
    async evaluate(request, deadline) {
      if (request.kind.kind === operator.kind) return denying(contradictionsInOperator(specOf<Operator>(request)));
      if (request.operation === 'UPDATE') return checkRollback(request, deadline, ask);
      const spec = specOf<OperatorDeployment>(request);
      const contradictions = contradictionsIn(spec);
      if (client === undefined) return denying(contradictions);
      const known = await knownOf(spec, client, deadline);
      const found = known instanceof Error ? unknown(known) : checkKnown(spec, known, asksAboutBreaking);
      return { ...found, violations: [...contradictions, ...found.violations] };
    },
  };
}

/** Returns the spec. The API server has validated it against the schema. */
const specOf = <Kind extends { spec: unknown }>({ object }: AdmissionRequest): Kind['spec'] =>
  (object as Json & { spec: Kind['spec'] }).spec;

interface Known {
  readonly operator: Operator | undefined;
  readonly clusters: readonly Cluster[];
  /** The installations of the operator; empty if they cannot be read. */
  readonly installations: readonly OperatorInstallation[];
}

/** Reads the facts from the management cluster only. */
async function knownOf(
  spec: OperatorDeployment['spec'],
  client: Pick<Client, 'get' | 'list'>,
  deadline: Deadline,
): Promise<Known | Error> {
  try {
    const labelSelector = `${OPERATOR_LABEL}=${spec.operator}`;
    const [found, clusters, installations] = await Promise.all([
      client.get<Operator>(operator.resource, { name: spec.operator }, { signal: deadline.signal() }).catch((error) => {
        if (isNotFound(error)) return undefined;
        throw error;
      }),
      client.list<Cluster>(cluster.resource, { signal: deadline.signal() }),
      client
        .list<OperatorInstallation>(operatorInstallation.resource, { labelSelector, signal: deadline.signal() })
        .catch(() => ({ items: [] })),
    ]);
    return { operator: found, clusters: clusters.items, installations: installations.items };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

const unknown = (error: Error): Findings => ({
  ...nothing,
  warnings: [warning(`the rollout could not be checked (${lookupFailure(error)}); it waits in Planning`)],
});

function checkKnown(
  spec: OperatorDeployment['spec'],
  known: Known,
  asksAboutBreaking: OperatorsGateOptions['asksAboutBreaking'],
): Findings {
  const all = [
    checkVersion(spec, known.operator),
    checkDefinitions(spec, known, asksAboutBreaking),
    checkClusters(spec, known.clusters),
  ];
  return {
    ...nothing,
    violations: all.flatMap(({ violations }) => violations),
    warnings: all.flatMap(({ warnings }) => warnings),
  };
}

function checkClusters(spec: OperatorDeployment['spec'], all: readonly Cluster[]): Findings {
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
      code: 'InvalidConfiguration',
      reason: 'Invalid',
      field: 'spec.clusters',
      message: `Cluster "${name}" is in the environment ${byName.get(name)?.spec.environment}, which is not in spec.environments`,
      next: 'Remove the cluster, or add its environment',
    })),
    warnings: [
      ...(missing.length === 0
        ? []
        : [
            warning(
              `Cluster not found: ${missing
                .slice(0, mostNamed)
                .map((each) => `"${each}"`)
                .join(', ')}; the rollout waits in Planning`,
            ),
          ]),
      ...(spec.strategy === 'Direct' && reachesProduction
        ? [
            warning(
              'the strategy Direct deploys to all clusters at once and is not recommended for Production; consider Canary or Rolling',
            ),
          ]
        : []),
    ],
  };
}

/**
 * Only an Admin can roll back (docs/requirements.md, 002). RBAC has verbs but no fields, so rollback has a verb of its
 * own.
 */
async function checkRollback(
  request: AdmissionRequest,
  deadline: Deadline,
  ask: OperatorsGateOptions['ask'],
): Promise<Findings> {
  const asked = (object: Json | undefined) => isObject(object?.spec) && object.spec.rollback === true;
  if (!asked(request.object) || asked(request.oldObject)) return nothing;
  const { userInfo = {}, name = '' } = request;
  const asking = ask?.(userInfo, () => deadline.signal()) ?? denyAccess;
  const on = { group: GROUP, resource: operatorDeployment.plural, namespace: '', name };
  const rest = { subresource: '', fieldSelector: '', labelSelector: '' };
  const [answer] = await asking([{ kind: 'resource', subject: 'requester', verb: rollbackVerb, ...on, ...rest }]);
  if (answer?.allowed === true) return { ...nothing, auditAnnotations: { rollback: userInfo.username ?? '' } };
  const why = answer?.error === undefined ? '' : ` (${answer.error})`;
  return denying([
    {
      gate: 'operators',
      code: 'RollbackForbidden',
      field: 'spec.rollback',
      message: `user "${userInfo.username ?? ''}" does not hold the verb ${rollbackVerb} on ${on.resource}.${GROUP} "${name}"${why}`,
      next: 'Ask an Admin to roll back',
    },
  ]);
}
