/** Authenticates the clients of an HTTPS server by certificate: once per connection, at the end of its handshake. */
import type { TLSSocket } from 'node:tls';
import { networkOf } from './shares.ts';

/** The client certificates that a server accepts. They are replaced while it runs. */
export interface ClientAuthority {
  current(): AcceptedClients;
  /** The listener is called when the accepted clients change. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void;
}

interface AcceptedClients {
  /** The CAs that sign client certificates, in PEM. */
  readonly ca: string;
  /** The accepted common names. Without them, every certificate of the CAs is accepted. */
  readonly names?: readonly string[] | undefined;
}

/** The client of a connection. */
export interface Caller {
  /** True only for a client with an accepted certificate; false for all clients of a server without a `ClientAuthority`. */
  readonly trusted: boolean;
  /** Whether the client has presented any certificate. */
  readonly presented: boolean;
  /** Its network address, as in `Shares`. */
  readonly address: string;
}

/** `anonymousAt` is a client that has presented no certificate. */
export const anonymousAt = (address: string): Caller => ({ trusted: false, presented: false, address });

/** `callerOf` decides who is at the other end of a connection whose handshake is complete. */
export function callerOf(socket: TLSSocket, clients: ClientAuthority | undefined): Caller {
  const address = networkOf(socket.remoteAddress ?? '');
  if (clients === undefined) return anonymousAt(address);
  // Node calls a resumed TLS 1.3 session authorized even if its client never had a certificate.
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return anonymousAt(address);
  return { trusted: isAccepted(socket, clients), presented: true, address };
}

function isAccepted(socket: TLSSocket, clients: ClientAuthority): boolean {
  if (!socket.authorized || socket.isSessionReused()) return false;
  const { names } = clients.current();
  if (names === undefined || names.length === 0) return true;
  const { CN: name } = socket.getPeerCertificate().subject;
  return typeof name === 'string' && names.includes(name);
}
