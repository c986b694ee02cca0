/**
 * Turns the bindings of a Service into environment variables: `DATABASE_USERS_PASSWORD` is the entry `password` of the Database `users`.
 * A binding carries credentials that are encrypted to this broker or, in the management cluster, the name of a Secret.
 */
import type { BoundConnection, DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';

interface BindingSources {
  readonly decrypt: (jwe: string) => Promise<Record<string, string>>;
  /** Reads a Secret of the management cluster; undefined if the broker runs elsewhere, or the Secret does not exist. */
  readonly secret: (namespace: string, name: string) => Promise<Record<string, string> | undefined>;
}

export async function environmentOf(
  { bindings = [] }: DeploymentRequest,
  sources: BindingSources,
): Promise<Record<string, string>> {
  const environment: Record<string, string> = {};
  for (const binding of bindings) {
    const others = bindings.filter(({ kind, name }) => kind === binding.kind && name === binding.name);
    const prefix = [binding.kind, ...(others.length > 1 ? [binding.namespace] : []), binding.name];
    for (const [key, value] of Object.entries(await valuesOf(binding, sources))) {
      environment[variable([...prefix, key])] = value;
    }
  }
  return environment;
}

async function valuesOf(
  { kind, namespace, name, secret, credentials }: BoundConnection,
  sources: BindingSources,
): Promise<Record<string, string>> {
  if (credentials !== undefined) return sources.decrypt(credentials);
  const found = secret === undefined ? undefined : await sources.secret(secret.namespace, secret.name);
  if (found !== undefined) return found;
  throw permanent(
    'binding-unreachable',
    `the request has no readable credentials for ${kind} ${namespace}/${name}: publish an encryption key for this broker, or run it in the management cluster`,
  );
}

const variable = (parts: readonly string[]): string =>
  parts
    .join('_')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '_');
