/** Maps a Service to a Deployment, a core Service and, if requested, a HorizontalPodAutoscaler and an Ingress. */
import type { Service } from '../../../api/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';
import { encodeValues, revisionOf } from './credentials.ts';
import type { ManifestContext } from './manifests.ts';
import { annotationsOf, bounded, labelsOf, metadataOf, REVISION_ANNOTATION, selectorOf } from './names.ts';
import { serviceSecurity } from './pod-security.ts';
import type { Manifest } from './resources.ts';

type Spec = Service['spec'];
type Port = NonNullable<Spec['ports']>[number];

const component = 'service';
/** How long a rollout may make no progress before it counts as failed. */
const progressDeadlineSeconds = 300;

export function serviceManifests(request: DeploymentRequest, { environment }: ManifestContext): Manifest[] {
  const spec = request.spec as Spec;
  if (spec.image === undefined) {
    throw permanent('no-image', 'spec.image is not set: nothing can run until the pipeline that builds it fills it in');
  }
  const autoscaled = spec.autoscaling !== undefined && spec.autoscaling.enabled !== false;
  const exposed = spec.loadBalancer !== undefined && spec.loadBalancer.enabled !== false;
  return [
    ...(Object.keys(environment).length === 0 ? [] : [bindingsSecret(request, environment)]),
    deployment(request, spec, environment, autoscaled),
    ...((spec.ports ?? []).length === 0 ? [] : [coreService(request, spec)]),
    ...(autoscaled ? [autoscaler(request, spec)] : []),
    ...(exposed ? [ingress(request, spec)] : []),
  ];
}

export const serviceName = (request: DeploymentRequest): string => bounded(request.resource.name, 63);
const bindingsName = (request: DeploymentRequest): string => bounded(`${request.resource.name}-bindings`, 253);

function bindingsSecret(request: DeploymentRequest, environment: Readonly<Record<string, string>>): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataOf(request, bindingsName(request)),
    type: 'Opaque',
    data: encodeValues(environment),
  };
}

function deployment(
  request: DeploymentRequest,
  spec: Spec,
  environment: Readonly<Record<string, string>>,
  autoscaled: boolean,
): Manifest {
  const bound = Object.keys(environment).length > 0;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadataOf(request, serviceName(request)),
    spec: {
      // The autoscaler owns the number of replicas.
      ...(autoscaled ? {} : { replicas: spec.replicas ?? 1 }),
      progressDeadlineSeconds,
      selector: { matchLabels: selectorOf(request, component) },
      template: {
        metadata: {
          labels: { ...labelsOf(request), ...selectorOf(request, component) },
          // A process reads its environment once, so changed connections must restart the Pods.
          annotations: {
            ...withoutDeployment(request),
            ...(bound ? { [REVISION_ANNOTATION]: revisionOf(environment) } : {}),
          },
        },
        spec: {
          automountServiceAccountToken: false,
          securityContext: serviceSecurity(request).pod,
          containers: [container(request, spec, bound)],
        },
      },
    },
  };
}

/** The annotations of Pods, without the deployment id: a repair that changes nothing else must not restart them. */
function withoutDeployment(request: DeploymentRequest): Record<string, string> {
  const { costTags = {} } = request;
  const all = Object.entries(annotationsOf(request));
  return Object.keys(costTags).length === 0 ? {} : Object.fromEntries(all.filter(([key]) => key.startsWith('cost.')));
}

function container(request: DeploymentRequest, spec: Spec, bound: boolean): Record<string, unknown> {
  const ports = spec.ports ?? [];
  return {
    name: component,
    image: spec.image,
    ...(spec.command === undefined ? {} : { command: spec.command }),
    ...(spec.args === undefined ? {} : { args: spec.args }),
    ...(ports.length === 0 ? {} : { ports: ports.map(containerPort) }),
    ...(spec.env === undefined ? {} : { env: spec.env }),
    ...(bound ? { envFrom: [{ secretRef: { name: bindingsName(request) } }] } : {}),
    ...(spec.resources === undefined ? {} : { resources: spec.resources }),
    ...probes(spec),
    securityContext: serviceSecurity(request).container,
  };
}

const portName = ({ name, port, protocol = 'TCP' }: Port): string =>
  bounded(name ?? `${protocol.toLowerCase()}-${port}`, 15);

const containerPort = (port: Port) => ({
  name: portName(port),
  containerPort: port.targetPort ?? port.port,
  protocol: port.protocol ?? 'TCP',
});

function probes(spec: Spec): Record<string, unknown> {
  const { healthCheck } = spec;
  if (healthCheck === undefined) return {};
  const port = chosenPort(spec, healthCheck.port, 'spec.healthCheck.port');
  const httpGet = { path: healthCheck.path ?? '/', port: port.targetPort ?? port.port };
  return {
    readinessProbe: { httpGet, periodSeconds: 5, failureThreshold: 3 },
    // Slower than readiness, so that a busy container is not restarted.
    livenessProbe: { httpGet, periodSeconds: 10, failureThreshold: 6 },
    startupProbe: { httpGet, periodSeconds: 5, failureThreshold: 60 },
  };
}

/** A port by number or name; by default the first. */
function chosenPort(spec: Spec, wanted: number | string | undefined, field: string): Port {
  const ports = spec.ports ?? [];
  const found =
    wanted === undefined
      ? ports[0]
      : ports.find(({ name, port }) => name === wanted || String(port) === String(wanted));
  if (found !== undefined) return found;
  throw permanent(
    'no-port',
    wanted === undefined
      ? `${field} needs a port: list one in spec.ports`
      : `${field} is ${wanted}, which is none of spec.ports: add it there, or name one that is`,
  );
}

function coreService(request: DeploymentRequest, spec: Spec): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(request, serviceName(request)),
    spec: {
      type: 'ClusterIP',
      selector: selectorOf(request, component),
      ports: (spec.ports ?? []).map((port) => ({
        name: portName(port),
        port: port.port,
        targetPort: port.targetPort ?? port.port,
        protocol: port.protocol ?? 'TCP',
      })),
    },
  };
}

function autoscaler(request: DeploymentRequest, spec: Spec): Manifest {
  const { minReplicas = 1, maxReplicas = 1, targetCPUUtilizationPercentage = 80 } = spec.autoscaling ?? {};
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: metadataOf(request, serviceName(request)),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: serviceName(request) },
      // The CPU metric cannot scale up from zero replicas, so the minimum is one.
      minReplicas: Math.max(1, minReplicas),
      maxReplicas,
      metrics: [
        {
          type: 'Resource',
          resource: {
            name: 'cpu',
            target: { type: 'Utilization', averageUtilization: targetCPUUtilizationPercentage },
          },
        },
      ],
    },
  };
}

function ingress(request: DeploymentRequest, spec: Spec): Manifest {
  const { scope, path = '/', port, tls, sourceRanges } = spec.loadBalancer ?? {};
  const backend = chosenPort(spec, port, 'spec.loadBalancer.port');
  const host = hostOf(request);
  const className = ingressClass(request, scope);
  const metadata = metadataOf(request, serviceName(request));
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...sources(request, sourceRanges) } },
    spec: {
      ...(className === undefined ? {} : { ingressClassName: className }),
      ...(tls === undefined
        ? {}
        : {
            tls: [
              {
                hosts: [host],
                ...(tls.secretName === undefined ? {} : { secretName: tls.secretName }),
              },
            ],
          }),
      rules: [
        {
          host,
          http: {
            paths: [
              {
                path,
                pathType: 'Prefix',
                backend: { service: { name: serviceName(request), port: { number: backend.port } } },
              },
            ],
          },
        },
      ],
    },
  };
}

/** The host of the Ingress. An Ingress without one would receive the requests for every host. */
export function hostOf(request: DeploymentRequest): string {
  const { target, resource } = request;
  const { host } = (request.spec as Spec).loadBalancer ?? {};
  if (host !== undefined) return host;
  const domain = target.parameters?.ingressDomain;
  if (domain !== undefined) return `${serviceName(request)}.${resource.namespace}.${domain}`;
  throw permanent(
    'no-host',
    `spec.loadBalancer.host is not set, and the target ${target.name} has no domain for such services: set the host, or spec.parameters.ingressDomain of the DeploymentTarget`,
  );
}

/** Only `scope: external` gives an ingress class that may be reachable from the internet. */
function ingressClass({ target }: DeploymentRequest, scope: string | undefined): string | undefined {
  const parameters = target.parameters ?? {};
  if (scope === 'external') return parameters.externalIngressClass ?? parameters.ingressClass;
  if (parameters.internalIngressClass !== undefined) return parameters.internalIngressClass;
  throw permanent(
    'no-internal-ingress',
    `the target ${target.name} does not say which ingress class is internal: set spec.parameters.internalIngressClass of the DeploymentTarget, or spec.loadBalancer.scope to external`,
  );
}

/** Each ingress controller has its own annotation for this; without the right one, every source would be allowed. */
function sources({ target }: DeploymentRequest, ranges: readonly string[] | undefined): Record<string, string> {
  if (ranges === undefined || ranges.length === 0) return {};
  const annotation = target.parameters?.sourceRangesAnnotation;
  if (annotation !== undefined) return { [annotation]: ranges.join(',') };
  throw permanent(
    'no-source-ranges',
    `the target ${target.name} does not say how its ingress controller restricts networks: set spec.parameters.sourceRangesAnnotation of the DeploymentTarget to the annotation that it reads`,
  );
}
