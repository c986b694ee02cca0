/** Encrypts each bound connection to its broker, which may run where it cannot read our Secrets. */
import { type Client, isNotFound } from '../../runtime/index.ts';
import { bindingsIn, isCopyOf } from '../bindings/index.ts';
import { kubernetesSecrets } from '../platform/resources.ts';
import { type KubernetesSecret, valuesOf } from './connection-secret.ts';
import type { Deployable } from './deployable.ts';
import type { Sealed } from './message.ts';

/** `sealedBindings` rejects if a Secret or the key of the broker cannot be read: an incomplete message is not sent. */
export async function sealedBindings(
  object: Deployable,
  broker: string,
  client: Client,
  seal: ((broker: string, values: Readonly<Record<string, string>>) => Promise<string | undefined>) | undefined,
): Promise<Sealed> {
  const sealed = new Map<string, string>();
  if (seal === undefined) return sealed;
  const { namespace = '' } = object.metadata;
  for (const { connectionSecret: name } of bindingsIn(object)) {
    if (name === undefined) continue;
    const secret = await client
      .get<KubernetesSecret>(kubernetesSecrets, { namespace, name })
      .catch((error: unknown) => {
        // The Secret was deleted with its binding: another deployment without it follows.
        if (!isNotFound(error)) throw error;
      });
    if (secret === undefined || !isCopyOf(secret, object)) continue;
    const jwe = await seal(broker, valuesOf(secret));
    if (jwe !== undefined) sealed.set(name, jwe);
  }
  return sealed;
}
