/** Credentials that have to be asked for. Loads @kubernetes/client-node (0.7 s, 60 MB) only then. */
import { ConfigError } from '../errors.ts';
import type { KubeConfig } from './credential-plugins.ts';
import { isFields, type NamedEntry } from './file.ts';

/** Asks an exec plugin or identity provider. `renew` is true when the last answer was refused with 401. */
export type Authenticator = (
  renew: boolean,
) => Promise<{ token?: string; clientCertificate?: string; clientKey?: string }>;

/** An exec plugin, OIDC or another provider, through @kubernetes/client-node, which caches until the token expires. */
export function authenticatorOf(user: NamedEntry, cluster: NamedEntry, context: string): Authenticator {
  const document = JSON.stringify({
    clusters: [{ name: cluster.name, cluster: { server: cluster.fields.server } }],
    users: [{ name: user.name, user: user.fields }],
    contexts: [{ name: context, context: { cluster: cluster.name, user: user.name } }],
    'current-context': context,
  });
  let loaded: Promise<KubeConfig> | undefined;
  const load = async () => {
    const { KubeConfig } = await import('./credential-plugins.ts');
    const kubeconfig = new KubeConfig();
    kubeconfig.loadFromString(document);
    return kubeconfig;
  };
  return async (renew) => {
    // A fresh KubeConfig is the only way to make it forget a token that the server refuses before it expires.
    if (renew || loaded === undefined) loaded = load();
    const options: { headers?: Record<string, string>; cert?: string; key?: string } = {};
    try {
      await (await loaded).applyToHTTPSOptions(options);
    } catch (cause) {
      const exec = user.fields.exec;
      const command = isFields(exec) && typeof exec.command === 'string' ? exec.command : undefined;
      const detail = cause instanceof Error ? (cause.message.trim().split('\n').at(-1) ?? '') : String(cause);
      throw new ConfigError({
        code: 'authentication-plugin',
        message: `The ${command === undefined ? 'auth provider' : `command "${command}"`} of user "${user.name}" in ${user.file} gave no credentials: ${detail}`,
        hint: command === undefined ? 'Log in again' : `Run "${command}" by hand to see what it needs`,
        cause,
      });
    }
    const authorization = options.headers?.Authorization;
    return {
      ...(authorization?.startsWith('Bearer ') === true ? { token: authorization.slice('Bearer '.length) } : {}),
      ...(options.cert === undefined ? {} : { clientCertificate: options.cert }),
      ...(options.key === undefined ? {} : { clientKey: options.key }),
    };
  };
}
