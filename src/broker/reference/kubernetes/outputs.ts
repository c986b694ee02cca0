/** The outputs in the report of a ready deployment: its address, and the replicas of a Service. Never credentials. */
import type { UnknownObject } from '../../../runtime/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import type { Report } from '../record.ts';
import { cacheName } from './cache.ts';
import { databaseName } from './database.ts';
import { namespaceOf, selectorOf } from './names.ts';
import { replicasOf } from './readiness.ts';
import { secretName } from './secret.ts';
import { hostOf, serviceName } from './service.ts';

export function outputsOf(
  request: DeploymentRequest,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const namespace = namespaceOf(request);
  const { host, port, database, type } = values;
  switch (request.resource.kind) {
    case 'Service':
      return { namespace, host: `${serviceName(request)}.${namespace}.svc` };
    case 'Secret':
      return { namespace, secretName: secretName(request) };
    default:
      return {
        namespace,
        name: request.resource.kind === 'Cache' ? cacheName(request) : databaseName(request),
        ...Object.fromEntries(
          Object.entries({ host, port, database, type }).filter(
            (each): each is [string, string] => each[1] !== undefined,
          ),
        ),
      };
  }
}

export function serviceReport(request: DeploymentRequest, deployment: UnknownObject): Partial<Report> {
  const balancer = (request.spec as { loadBalancer?: { enabled?: boolean; path?: string; tls?: object } }).loadBalancer;
  const exposed = balancer !== undefined && balancer.enabled !== false;
  return {
    ...replicasOf(deployment),
    selector: Object.entries(selectorOf(request, 'service'))
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
    ...(exposed
      ? { url: `${balancer.tls === undefined ? 'http' : 'https'}://${hostOf(request)}${balancer.path ?? '/'}` }
      : {}),
  };
}
