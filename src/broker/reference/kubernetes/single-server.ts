/** The manifests that Databases and Caches share: a StatefulSet with one replica, its core Service and the Secret with the connection. */
import type { DeploymentRequest } from '../../messages.ts';
import { encodeValues, revisionOf } from './credentials.ts';
import type { ManifestContext } from './manifests.ts';
import { labelsOf, metadataOf, REVISION_ANNOTATION, selectorOf } from './names.ts';
import { restrictedContainer, restrictedPod } from './pod-security.ts';
import type { Manifest } from './resources.ts';

export interface SingleServer {
  readonly name: string;
  readonly secretName: string;
  /** `database` or `cache`: the name of the container and of the port, and the component label of the Pods. */
  readonly component: string;
  readonly port: number;
  /** The user ID that the image can run as. */
  readonly user: number;
  /** Additional fields of the Pod spec. */
  readonly pod?: Readonly<Record<string, unknown>>;
  readonly podSecurity?: Readonly<Record<string, unknown>>;
  readonly container: Readonly<Record<string, unknown>>;
  /** Additional fields of the StatefulSet spec. */
  readonly disks?: Readonly<Record<string, unknown>>;
}

export function singleServer(
  request: DeploymentRequest,
  server: SingleServer,
  { values, rotation }: ManifestContext,
): Manifest[] {
  const { name, secretName, component, port } = server;
  const secret = metadataOf(request, secretName);
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...secret, annotations: { ...secret.annotations, ...rotation } },
      type: 'Opaque',
      data: encodeValues(values),
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadataOf(request, name),
      spec: {
        type: 'ClusterIP',
        selector: selectorOf(request, component),
        ports: [{ name: component, port, targetPort: port, protocol: 'TCP' }],
      },
    },
    statefulSet(request, server, values),
  ];
}

function statefulSet(
  request: DeploymentRequest,
  { name, component, port, user, pod = {}, podSecurity = {}, container, disks = {} }: SingleServer,
  values: ManifestContext['values'],
): Manifest {
  const { image, command, ...rest } = container;
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: metadataOf(request, name),
    spec: {
      replicas: 1,
      serviceName: name,
      selector: { matchLabels: selectorOf(request, component) },
      template: {
        metadata: {
          labels: { ...labelsOf(request), ...selectorOf(request, component) },
          // A new password is set when a container starts: the changed annotation restarts the Pod.
          annotations: { [REVISION_ANNOTATION]: revisionOf(values) },
        },
        spec: {
          automountServiceAccountToken: false,
          securityContext: { ...restrictedPod(user), ...podSecurity },
          containers: [
            {
              name: component,
              image,
              ...(command === undefined ? {} : { command }),
              ports: [{ name: component, containerPort: port, protocol: 'TCP' }],
              ...rest,
              securityContext: restrictedContainer,
            },
          ],
          ...pod,
        },
      },
      ...disks,
    },
  };
}
