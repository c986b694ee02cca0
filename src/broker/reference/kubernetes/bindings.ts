/**
 * Turns the bindings of a Service into environment variables.
 * A binding carries credentials that are encrypted to this broker or, in the management cluster, the name of a Secret.
 */
import type { BoundConnection, DeploymentRequest } from '../../messages.ts';
import { variableConflicts, variableName } from '../../variables.ts';
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
  const all: (readonly [BoundConnection, Record<string, string>])[] = [];
  for (const binding of bindings) all.push([binding, await valuesOf(binding, sources)]);
  const [conflict] = variableConflicts(all.map(([binding, values]) => [binding, Object.keys(values)]));
  if (conflict !== undefined) {
    throw permanent(
      'variable-conflict',
      `${conflict.text}: rename a resource or an entry, or select only one of them in spec.dependencies`,
    );
  }
  return Object.fromEntries(
    all.flatMap(([binding, values]) =>
      Object.entries(values).map(([key, value]) => [variableName(binding, key), value]),
    ),
  );
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
