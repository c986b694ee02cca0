/** What an object uses, each connection encrypted to the broker that is to hand it on: it may run where no Secret of ours can be read. */
import { type Client, isNotFound } from '../../runtime/index.ts';
import { kubernetesSecrets } from '../platform/resources.ts';
import { type KubernetesSecret, valuesOf } from './connection-secret.ts';
import type { Deployable } from './deployable.ts';
import type { Sealed } from './message.ts';

/** Rejects where a Secret cannot be read or the key of the broker not be had: what is not whole is not sent. */
export async function sealedBindings(
  { metadata: { namespace = '' }, status = {} }: Deployable,
  broker: string,
  client: Client,
  seal: ((broker: string, values: Readonly<Record<string, string>>) => Promise<string | undefined>) | undefined,
): Promise<Sealed> {
  const sealed = new Map<string, string>();
  if (seal === undefined) return sealed;
  for (const { connectionSecret: name } of status.bindings ?? []) {
    if (name === undefined) continue;
    const secret = await client
      .get<KubernetesSecret>(kubernetesSecrets, { namespace, name })
      .catch((error: unknown) => {
        // It has just gone with its binding: there will be another deployment without it.
        if (!isNotFound(error)) throw error;
      });
    if (secret === undefined) continue;
    const jwe = await seal(broker, valuesOf(secret));
    if (jwe !== undefined) sealed.set(name, jwe);
  }
  return sealed;
}
