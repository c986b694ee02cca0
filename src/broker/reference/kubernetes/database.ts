/** Maps a Database to a Secret with credentials, a core Service, a StatefulSet and, if backups are enabled, a CronJob. */
import type { Database } from '../../../api/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';
import { generateValue } from './credentials.ts';
import { type Engine, engines } from './engines.ts';
import type { ManifestContext } from './manifests.ts';
import { bounded, labelsOf, metadataOf, namespaceOf, selectorOf } from './names.ts';
import { restrictedContainer, restrictedPod } from './pod-security.ts';
import type { Manifest } from './resources.ts';
import { type SingleServer, singleServer } from './single-server.ts';
import { databaseSize } from './sizes.ts';

type Spec = Database['spec'];

const component = 'database';

export function databaseManifests(request: DeploymentRequest, context: ManifestContext): Manifest[] {
  const spec = request.spec as Spec;
  const engine = engineOf(spec);
  const image = context.images[spec.engine ?? 'postgresql'] ?? `${engine.image}:${spec.version ?? engine.version}`;
  return [
    ...singleServer(request, serverOf(request, spec, engine, image), context),
    ...(spec.backup?.enabled === true ? backup(request, spec, engine, image) : []),
  ];
}

function engineOf(spec: Spec): Engine {
  const engine = engines[spec.engine ?? 'postgresql'];
  if (engine !== undefined) return engine;
  throw permanent(
    'unsupported-engine',
    `this broker does not support the engine ${spec.engine}: use ${Object.keys(engines).join(', ')}, or a target whose broker supports it`,
  );
}

/** The name of a StatefulSet is part of a label of its Pods, which limits it to 52 characters. */
export const databaseName = (request: DeploymentRequest): string => bounded(`${request.resource.name}-database`, 52);
export const databaseSecretName = (request: DeploymentRequest): string => `${databaseName(request)}-credentials`;
const backupName = (request: DeploymentRequest): string => bounded(`${request.resource.name}-backup`, 52);
const addressOf = (request: DeploymentRequest): string => `${databaseName(request)}.${namespaceOf(request)}.svc`;

/** `databaseValues` returns the connection values. It keeps user and password, and generates a password if none exists or rotation is due. */
export function databaseValues(
  request: DeploymentRequest,
  before: Readonly<Record<string, string>>,
  renew: boolean,
): Record<string, string> {
  const engine = engineOf(request.spec as Spec);
  const username = before.username ?? 'app';
  const database = before.database ?? databaseIdentifier(request.resource.name);
  const password = renew || before.password === undefined ? generateValue(32) : before.password;
  const previous = renew ? (before.password ?? password) : (before['previous-password'] ?? password);
  const host = addressOf(request);
  const suffix = engine.scheme === 'mongodb' ? '?authSource=admin' : '';
  return {
    type: engine.scheme,
    host,
    port: String(engine.port),
    database,
    username,
    password,
    'previous-password': previous,
    uri: `${engine.scheme}://${username}:${password}@${host}:${engine.port}/${database}${suffix}`,
  };
}

const databaseIdentifier = (name: string): string => `db_${name.replaceAll(/[^a-z0-9]/g, '_')}`.slice(0, 60);

function serverOf(request: DeploymentRequest, spec: Spec, engine: Engine, image: string): SingleServer {
  const { storage, cpu, memory } = databaseSize(spec.size);
  const keptOnDisk = isPersistent(request);
  return {
    name: databaseName(request),
    secretName: databaseSecretName(request),
    component,
    port: engine.port,
    user: engine.user,
    podSecurity: { fsGroup: engine.user, fsGroupChangePolicy: 'OnRootMismatch' },
    container: {
      image,
      env: environmentOf(request, engine),
      resources: { requests: { cpu, memory }, limits: { memory } },
      // Until the server has the current password, after each start: the Events of the Pod say why it does not accept it.
      startupProbe: {
        exec: { command: shell(`${engine.login} || ${engine.setPassword}`) },
        periodSeconds: 2,
        timeoutSeconds: 10,
        failureThreshold: 900,
      },
      readinessProbe: { exec: { command: shell(engine.login) }, periodSeconds: 5, timeoutSeconds: 10 },
      volumeMounts: [{ name: 'data', mountPath: engine.dataPath }],
    },
    ...(keptOnDisk
      ? {
          disks: {
            persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
            volumeClaimTemplates: [
              {
                apiVersion: 'v1',
                kind: 'PersistentVolumeClaim',
                metadata: { name: 'data', labels: labelsOf(request) },
                spec: claimSpec(request, storage),
              },
            ],
          },
        }
      : { pod: { volumes: [{ name: 'data', emptyDir: { sizeLimit: storage } }] } }),
  };
}

const isPersistent = ({ target }: DeploymentRequest): boolean => target.parameters?.storage !== 'ephemeral';

function claimSpec({ target }: DeploymentRequest, storage: string): Record<string, unknown> {
  const storageClassName = target.parameters?.storageClass;
  return {
    accessModes: ['ReadWriteOnce'],
    ...(storageClassName === undefined ? {} : { storageClassName }),
    resources: { requests: { storage } },
  };
}

function backup(request: DeploymentRequest, spec: Spec, engine: Engine, image: string): Manifest[] {
  const { schedule = '0 3 * * *', retentionDays = 7 } = spec.backup ?? {};
  const name = backupName(request);
  const file = '/backups/$(date -u +%Y%m%dT%H%M%SZ).gz';
  const persistent = isPersistent(request);
  return [
    ...(persistent
      ? [
          {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            metadata: metadataOf(request, name),
            spec: claimSpec(request, databaseSize(spec.size).storage),
          },
        ]
      : []),
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: metadataOf(request, name),
      spec: {
        schedule,
        timeZone: 'Etc/UTC',
        // Concurrent backups would only slow each other down.
        concurrencyPolicy: 'Forbid',
        successfulJobsHistoryLimit: 1,
        failedJobsHistoryLimit: 3,
        jobTemplate: {
          metadata: { labels: labelsOf(request) },
          spec: {
            backoffLimit: 3,
            template: {
              metadata: { labels: { ...labelsOf(request), ...selectorOf(request, 'backup') } },
              spec: {
                restartPolicy: 'OnFailure',
                automountServiceAccountToken: false,
                securityContext: {
                  ...restrictedPod(engine.user),
                  fsGroup: engine.user,
                  fsGroupChangePolicy: 'OnRootMismatch',
                },
                containers: [
                  {
                    name: 'backup',
                    image,
                    command: [
                      'bash',
                      '-c',
                      `set -euo pipefail; file=${file}; ${engine.dump} | gzip > "$file.part"; mv "$file.part" "$file"; find /backups -name '*.gz*' -mtime +${retentionDays} -delete`,
                    ],
                    env: [{ name: 'HOST', value: databaseName(request) }, ...environmentOf(request, engine)],
                    volumeMounts: [{ name: 'backups', mountPath: '/backups' }],
                    securityContext: restrictedContainer,
                  },
                ],
                volumes: [
                  persistent
                    ? { name: 'backups', persistentVolumeClaim: { claimName: name } }
                    : { name: 'backups', emptyDir: {} },
                ],
              },
            },
          },
        },
      },
    },
  ];
}

function environmentOf(request: DeploymentRequest, engine: Engine): Record<string, unknown>[] {
  return [
    ...Object.entries(engine.fromSecret).map(([name, key]) => ({
      name,
      valueFrom: { secretKeyRef: { name: databaseSecretName(request), key } },
    })),
    ...Object.entries(engine.environment ?? {}).map(([name, value]) => ({ name, value })),
  ];
}

export const shell = (script: string): string[] => ['sh', '-c', script];
