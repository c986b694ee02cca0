/** Waits for a server to use a certificate. */
import { X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { ControlPlaneError } from './errors.ts';

/** `untilServed` resolves once a new connection gets the given certificate. */
export async function untilServed(port: number, certificate: string, withinMilliseconds = 90_000): Promise<void> {
  const wanted = new X509Certificate(certificate).fingerprint256;
  const deadline = Date.now() + withinMilliseconds;
  while ((await servedFingerprint(port)) !== wanted) {
    if (Date.now() > deadline) {
      throw new ControlPlaneError({
        code: 'process/not-ready',
        message: `the server on port ${port} did not take up its new certificate in time`,
        hint: 'Restart it, so that it reads the files again.',
      });
    }
    await sleep(100);
  }
}

/** The connection need not be trusted, because only the certificate is read and nothing is sent. */
export function servedFingerprint(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256);
      socket.destroy();
    });
    socket.on('error', () => resolve(undefined));
  });
}
