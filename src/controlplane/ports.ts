/** Ports on loopback that nobody listens on, outside the range the kernel hands out for outgoing connections. */
import { createServer } from 'node:net';
import { ControlPlaneError } from './errors.ts';

// Below Linux's (32768) and macOS's (49152) ephemeral ranges: a server that is stopped and started again finds its port free.
const lowest = 20_000;
const highest = 32_000;
const handedOut = new Set<number>();

/** Another process may still take the port before it is bound: whoever binds it must be ready to ask again. */
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

/** The given port where it is still free, else another. */
export async function portOr(preferred: number | undefined): Promise<number> {
  return preferred !== undefined && (await isFree(preferred)) ? preferred : freePort();
}

/** Exactly that port: other programs already know it. */
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
