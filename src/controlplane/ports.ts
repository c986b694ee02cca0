/** Free ports on loopback, outside the kernel's range for outgoing connections. */
import { createServer } from 'node:net';
import { ControlPlaneError } from './errors.ts';

// These ports are below the ephemeral ranges of Linux (32768) and macOS (49152), so that a restarted server finds its
// port free.
const lowest = 20_000;
const highest = 32_000;
/** The ports that this process has handed out, which must not be given to two servers before either binds its port. */
const handedOut = new Set<number>();

/** Another process can take the port before it is bound, so the caller must be ready to ask again. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (handedOut.has(port)) continue;
    if (!(await isFree(port))) continue;
    handedOut.add(port);
    return port;
  }
  throw new ControlPlaneError({
    code: 'port/taken',
    message: `no free port on 127.0.0.1 between ${lowest} and ${highest}`,
    hint: 'Stop what listens there and try again.',
  });
}

/** Returns the preferred port if it is still free, or else another. */
export async function portOr(preferred: number | undefined): Promise<number> {
  return preferred !== undefined && (await isFree(preferred)) ? preferred : freePort();
}

/** Returns exactly that port, which other programs already know, or fails. */
export async function demandPort(port: number): Promise<number> {
  if (await isFree(port)) return port;
  throw new ControlPlaneError({
    code: 'port/taken',
    message: `port ${port} on 127.0.0.1 is taken`,
    hint: 'Stop what listens there, or choose another port.',
  });
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
