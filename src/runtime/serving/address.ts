/** The address of a server: how clients reach it, and why it could not be opened. */
import { isIPv6 } from 'node:net';
import { ConfigError } from '../errors.ts';

/** `reachableHost` is the host for the URL of a server that listens on `host`: a wildcard address is reached on loopback. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return isIPv6(host) ? `[${host}]` : host;
}

/** `portError` explains why a port could not be opened, as a `ConfigError`. It returns other errors unchanged. */
export function portError(error: unknown, { host, port, what }: { host: string; port: number; what: string }): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error;
  const problem = code === 'EADDRINUSE' ? 'is already in use' : 'cannot be opened by this user';
  const hint = `Choose another port for ${what}, or stop the process that listens there`;
  return new ConfigError({ code: 'port', message: `Port ${port} on ${host} ${problem}`, hint, cause: error });
}
