/** Ports at which an API server presents its client certificate to a webhook: it must know their addresses when it starts. */
import { type ControlPlane, freePort, webhookClientName } from '../../src/controlplane/index.ts';
import type { ClientAuthority } from '../../src/runtime/internal.ts';

export interface WebhookPorts {
  /** The option of `startControlPlane`. */
  readonly webhooks: readonly string[];
  /** Options of an admission server that answers only the API server; each call returns another port. */
  next(plane: ControlPlane): { readonly port: number; readonly clients: ClientAuthority };
}

export async function webhookPorts(count = 24): Promise<WebhookPorts> {
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  return {
    webhooks: ports.map((port) => `127.0.0.1:${port}`),
    next(plane) {
      const port = ports.pop();
      if (port === undefined) throw new Error('all ports with a client certificate are used');
      return { port, clients: webhookClients(plane) };
    },
  };
}

/** The API server of a control plane, as the only accepted client of a webhook. */
export function webhookClients({ webhookAuthority: ca = '' }: ControlPlane): ClientAuthority {
  return { current: () => ({ ca, names: [webhookClientName] }), subscribe: () => () => {} };
}
