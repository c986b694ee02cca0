import { application } from './application.ts';
import { approval } from './approval.ts';
import { broker } from './broker.ts';
import { cache } from './cache.ts';
import { cluster } from './cluster.ts';
import { crdRevision } from './crd-revision.ts';
import { database } from './database.ts';
import { deploymentTarget } from './deployment-target.ts';
import type { Kind } from './kind.ts';
import { operator } from './operator.ts';
import { operatorDeployment } from './operator-deployment.ts';
import { operatorInstallation } from './operator-installation.ts';
import { policy } from './policy.ts';
import { policyException } from './policy-exception.ts';
import { secret } from './secret.ts';
import { service } from './service.ts';
import { team } from './team.ts';
import { topic } from './topic.ts';

/** Every kind of the platform: platform-internal kinds first, then the kinds that brokers provision. */
export const kinds: readonly Kind[] = [
  team,
  application,
  policy,
  policyException,
  approval,
  crdRevision,
  operator,
  cluster,
  operatorDeployment,
  operatorInstallation,
  deploymentTarget,
  broker,
  database,
  service,
  cache,
  topic,
  secret,
];

/** The kinds that a broker provisions. */
export const deployableKinds: readonly Kind[] = kinds.filter((kind) => kind.deployable);

/** `kindNamed` returns the kind with the given name, or undefined if the platform has none. */
export function kindNamed(name: string): Kind | undefined {
  return kinds.find((kind) => kind.kind === name);
}
