/**
 * The credentials of connections and requests, read from the sources in the config and read again when they change on
 * disk: a kubelet replaces the token of a service account every hour, and a CA is rotated under a running controller.
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
  /** The client certificate in PEM, used to report its expiry. */
  readonly clientCertificate: string | undefined;
}

interface CredentialSource {
  /** Returns the current credentials. The files are checked at most once per `recheckMilliseconds`. */
  current(): Credentials | Promise<Credentials>;
  /**
   * Reads everything again because these credentials were rejected. Returns whether they have changed, including a
   * change by another request that was rejected at the same time.
   */
  renew(refused: Credentials): Promise<boolean>;
}

/**
 * Throws a `ConfigError` if a file is unreadable or contains no certificate at the first read. Later it keeps the last
 * credentials.
 */
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
      // Created once for all connections: parsing the CA and the key for each handshake costs more than the handshake.
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
      // Reading the config again creates a new authenticator without cached answers.
      if (reload && known !== undefined && config.origin !== undefined) {
        config = config.origin.reload();
        files = filesOf(config);
      }
      const next = build();
      const changed = next.tlsIdentity !== known?.tlsIdentity || next.authorization !== known.authorization;
      known = next;
      return changed;
    } catch (error) {
      // A partial rotation (the new certificate with the old key) must not break a working client: the next check reads
      // the rest.
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
      // Follows symbolic links: a mounted Secret is replaced by changing a link, which changes the inode and not always
      // the time.
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
