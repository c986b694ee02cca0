/** All endpoints: the table behind the server and the OpenAPI document. */
import { knownDefinitions } from '../definitions.ts';
import type { RestOptions } from '../options.ts';
import { renderCheck } from '../rendering.ts';
import type { Route } from '../route.ts';
import { approvalRoutes } from './approvals.ts';
import { clusterRoutes } from './clusters.ts';
import { crdRoutes } from './crds.ts';
import { deploymentRoutes } from './deployments.ts';
import { healthRoutes } from './health.ts';
import { operatorRoutes } from './operators.ts';

export type RouteParts = Pick<
  RestOptions,
  | 'client'
  | 'systemNamespace'
  | 'charts'
  | 'sealingKeys'
  | 'definitions'
  | 'compare'
  | 'repositoryMilliseconds'
  | 'renderMilliseconds'
  | 'onValidated'
>;

export function allRoutes({
  client,
  systemNamespace,
  charts,
  sealingKeys,
  definitions,
  compare,
  repositoryMilliseconds = 10_000,
  renderMilliseconds = 5_000,
  onValidated,
}: RouteParts): readonly Route[] {
  return [
    ...operatorRoutes({ charts, repositoryMilliseconds }),
    ...clusterRoutes({ client, systemNamespace, sealingKeys }),
    ...healthRoutes,
    ...deploymentRoutes(renderCheck(charts, renderMilliseconds)),
    ...crdRoutes(knownDefinitions({ client, stored: definitions, compare, onValidated })),
    ...approvalRoutes,
  ];
}
