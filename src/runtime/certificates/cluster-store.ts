/**
 * Stores certificates in the cluster: the material in a Secret of type kubernetes.io/tls, the keys of the authorities
 * in a second Secret (`<name>-authorities`, see store.ts), and the report of each replica in a Lease of its own. Leases
 * are designed to be written every few seconds and Secrets are not, and a replica that writes only its own object
 * causes no conflicts.
 *
 * It requires, in its namespace: get, create and update on the two Secrets; list, create, patch and delete on Leases.
 */
import { createHash } from 'node:crypto';
import type { Client } from '../client/client.ts';
import { type Clock, microTime, systemClock } from '../clock.ts';
import { ApiError, isAlreadyExists, isConflict, isNotFound } from '../errors.ts';
import { type Lease, leases } from '../leader/lease.ts';
import { coreSecrets as secrets } from '../objects/core-resources.ts';
import type { KubernetesObject } from '../objects/object.ts';
import { decodeKeys, decodeMaterial, encodeKeys, encodeMaterial, type Fields } from './encoding.ts';
import type { CertificateStore, ReplicaReport, Versioned, WriteResult } from './store.ts';

interface ClusterStoreOptions {
  client: Client;
  namespace: string;
  /** The name of the Secret with the serving certificate. */
  name: string;
  /** The duration that kubectl shows for the Lease of a replica. Its heartbeat decides whether a replica is alive. */
  leaseDurationSeconds?: number;
  clock?: Clock;
}

interface SecretObject extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
}

const fieldManager = 'kidp-certificates';
const replicaOfLabel = 'platform.company.com/certificates-of';
const servesAnnotation = 'platform.company.com/serves-authority';

export function clusterStore(options: ClusterStoreOptions): CertificateStore {
  const { client, namespace, name, leaseDurationSeconds = 30, clock = systemClock } = options;
  const labels = { 'app.kubernetes.io/managed-by': 'kidp' };

  async function read<T>(secret: string, decode: (fields: Fields) => T): Promise<Versioned<T>> {
    const stored = await found(client.get<SecretObject>(secrets, { namespace, name: secret }));
    if (stored === undefined) return { value: undefined, version: undefined };
    const version = stored.metadata.resourceVersion;
    try {
      return { value: decode(decodeData(stored.data)), version };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { value: undefined, version, problem: `Secret ${namespace}/${secret}: ${message}` };
    }
  }

  async function write(
    secret: string,
    type: string,
    fields: Fields,
    version: string | undefined,
  ): Promise<WriteResult> {
    const object: SecretObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secret, namespace, labels, ...(version === undefined ? {} : { resourceVersion: version }) },
      type,
      data: encodeData(fields),
    };
    try {
      if (version === undefined) await client.create(secrets, object, { fieldManager });
      else await client.update(secrets, object, { fieldManager });
      return 'written';
    } catch (error) {
      // A Secret that was deleted after the read is a conflict too.
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return 'conflict';
      if (!isImmutableType(error)) throw error;
      // The Secret was created with another type, which is immutable. Delete it; the next pass creates it again.
      await found(client.delete(secrets, { namespace, name: secret }, precondition(version)));
      return 'conflict';
    }
  }

  const authorities = `${name}-authorities`;
  return {
    readMaterial: () => read(name, decodeMaterial),
    writeMaterial: (material, version) => write(name, 'kubernetes.io/tls', encodeMaterial(material), version),
    readKeys: () => read(authorities, decodeKeys),
    writeKeys: (keys, version) => write(authorities, 'Opaque', encodeKeys(keys), version),

    async report(identity, serves) {
      const lease: Lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {
          name: leaseNameOf(name, identity),
          namespace,
          labels: { ...labels, [replicaOfLabel]: name },
          ...(serves === undefined ? {} : { annotations: { [servesAnnotation]: serves } }),
        },
        spec: { holderIdentity: identity, leaseDurationSeconds, renewTime: microTime(clock.now()) },
      };
      // Forced, because only this replica owns the Lease of its identity.
      await client.apply(leases, lease, { fieldManager, force: true });
    },

    async readReports() {
      const { items } = await client.list<Lease>(leases, {
        namespace,
        labelSelector: `${replicaOfLabel}=${name}`,
      });
      return items.map(reportOf);
    },

    async removeReport(identity) {
      await found(client.delete(leases, { namespace, name: leaseNameOf(name, identity) }));
    },
  };
}

function reportOf(lease: Lease): ReplicaReport {
  return {
    identity: lease.spec?.holderIdentity ?? lease.metadata.name,
    serves: lease.metadata.annotations?.[servesAnnotation],
    beat: lease.metadata.resourceVersion ?? '',
  };
}

/**
 * An identity can have characters that a name cannot have (`pod_1.abc`), or be too long. The digest keeps the names
 * unique.
 */
function leaseNameOf(name: string, identity: string): string {
  const readable = identity
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 40);
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, 8);
  return `${name}-${readable}-${digest}`.replace(/-+/g, '-');
}

async function found<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

const precondition = (resourceVersion: string | undefined) =>
  resourceVersion === undefined ? {} : { preconditions: { resourceVersion } };

/**
 * Checks the field, because the message of the API server may change. A Secret that a user made immutable is not ours
 * to delete.
 */
const isImmutableType = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.status === 422 &&
  (error.details.causes ?? []).some(({ field }) => field === 'type');

const encodeData = (fields: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));

const decodeData = (data: Record<string, string> = {}): Fields =>
  Object.fromEntries(Object.entries(data).map(([name, text]) => [name, Buffer.from(text, 'base64').toString('utf8')]));
