/**
 * What a connection and a request need to prove who we are, read from where the config says and read again when it
 * changes on disk: a kubelet swaps a service account's token every hour, a CA is rotated under a running controller.
 */
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { ConfigError } from '../errors.ts';
import type { ClusterConfig, Material } from '../kubeconfig/kubeconfig.ts';

export interface Credentials {
  /** The value of the Authorization header. */
  readonly authorization: string | undefined;
  /** Undefined for plain http. */
  readonly secureContext: SecureContext | undefined;
  /** Identifies the TLS identity: when it changes, connections are opened again. */
  readonly tlsIdentity: string;
  /** The client certificate in PEM, to say when it expired. */
  readonly clientCertificate: string | undefined;
}

interface CredentialSource {
  /** The credentials as they are now; looks at the files at most once per `recheckMilliseconds`. */
  current(): Credentials | Promise<Credentials>;
  /**
   * Reads everything again because these were rejected. Returns whether there are others now: also where another request, refused at the
   * same time, has brought them.
   */
  renew(refused: Credentials): Promise<boolean>;
}

/** Throws a `ConfigError` where a file cannot be read or holds no certificate at the first reading; later it keeps what it has. */
export function readCredentials(initial: ClusterConfig, recheckMilliseconds: number): CredentialSource {
  const secure = initial.server.startsWith('https:');
  let config = initial;
  let files = filesOf(config);
  let known: Credentials | undefined;
  let stamp = stampOf(files);
  let checkedAt = performance.now();
  let renewal: Promise<boolean> | undefined;
  let answer: Awaited<ReturnType<NonNullable<ClusterConfig['authenticator']>>> = {};

  const build = (): Credentials => {
    const authority = contentOf(config.certificateAuthority);
    const certificate = answer.clientCertificate ?? contentOf(config.clientCertificate);
    const key = answer.clientKey ?? contentOf(config.clientKey);
    const token = answer.token ?? contentOf(config.token)?.trim();
    const tlsIdentity = JSON.stringify([authority, certificate, key]);
    return {
      authorization: token !== undefined ? `Bearer ${token}` : basicOf(config),
      // Made once for all connections: parsing the CA and the key for each handshake costs more than the handshake.
      secureContext: !secure
        ? undefined
        : known?.tlsIdentity === tlsIdentity
          ? known.secureContext
          : secureContextOf(config, authority, certificate, key),
      tlsIdentity,
      clientCertificate: certificate,
    };
  };

  const reread = (reload: boolean): boolean => {
    try {
      // A config that is read again brings a new authenticator, which knows nothing of the answers it once had.
      if (reload && known !== undefined && config.origin !== undefined) {
        config = config.origin.reload();
        files = filesOf(config);
      }
      const next = build();
      const changed = next.tlsIdentity !== known?.tlsIdentity || next.authorization !== known.authorization;
      known = next;
      return changed;
    } catch (error) {
      // Half of a rotation (the new certificate beside the old key) must not break what works: the next look sees the rest.
      if (known === undefined) throw error;
      stamp = '';
      return false;
    }
  };

  const ask = async (renew: boolean): Promise<boolean> => {
    const next = stampOf(files);
    const changed = next !== stamp;
    stamp = next;
    if (config.authenticator !== undefined) answer = await config.authenticator(renew);
    return reread(renew || changed);
  };

  return {
    current() {
      if (config.authenticator !== undefined) {
        if (known !== undefined && performance.now() - checkedAt < recheckMilliseconds) return known;
        checkedAt = performance.now();
        return ask(false).then(() => known as Credentials);
      }
      if (known === undefined) {
        reread(false);
      } else if (files.length > 0 && performance.now() - checkedAt >= recheckMilliseconds) {
        checkedAt = performance.now();
        const next = stampOf(files);
        if (next !== stamp) {
          stamp = next;
          reread(true);
        }
      }
      return known as unknown as Credentials;
    },
    async renew(refused) {
      if (known !== refused) return true;
      checkedAt = performance.now();
      renewal ??= ask(true).finally(() => {
        renewal = undefined;
      });
      return renewal;
    },
  };
}

function filesOf(config: ClusterConfig): string[] {
  const materials = [config.certificateAuthority, config.clientCertificate, config.clientKey, config.token];
  return [
    ...(config.origin?.files ?? []),
    ...materials.flatMap((material) => (material !== undefined && 'file' in material ? [material.file] : [])),
  ];
}

function stampOf(files: readonly string[]): string {
  return files
    .map((file) => {
      // Follows links: a mounted Secret is swapped by repointing a link, which moves the inode and not always the time.
      const found = statSync(file, { throwIfNoEntry: false });
      return found === undefined ? 'missing' : `${found.ino}:${found.mtimeMs}:${found.size}`;
    })
    .join('|');
}

function contentOf(material: Material | undefined): string | undefined {
  if (material === undefined) return undefined;
  if ('data' in material) return material.data;
  try {
    return readFileSync(material.file, 'utf8');
  } catch (cause) {
    throw new ConfigError({
      code: 'missing-file',
      message: `${material.file} cannot be read: ${String((cause as NodeJS.ErrnoException).code)}`,
      hint: 'Put the file there or correct the path',
      cause,
    });
  }
}

function basicOf(config: ClusterConfig): string | undefined {
  if (config.basic === undefined) return undefined;
  return `Basic ${Buffer.from(`${config.basic.username}:${config.basic.password}`).toString('base64')}`;
}

function secureContextOf(
  config: ClusterConfig,
  ca: string | undefined,
  cert: string | undefined,
  key: string | undefined,
): SecureContext {
  try {
    return createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    });
  } catch (cause) {
    throw new ConfigError({
      code: 'bad-certificate',
      message: `The certificates of ${config.source} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: 'Check that the CA, the client certificate and its key are PEM and belong together',
      cause,
    });
  }
}
