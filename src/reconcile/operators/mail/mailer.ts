/** Sends a message to a mail server, with TLS unless the server is on this machine or plaintext is allowed. */
import { isLoopback } from '../../../runtime/internal.ts';
import type { Message } from './message.ts';

interface SmtpOptions {
  readonly host: string;
  readonly port: number;
  /** Implicit TLS, the way port 465 uses it; otherwise STARTTLS. */
  readonly implicitTls?: boolean | undefined;
  /** Allows plaintext. A server on this machine always may use it. */
  readonly allowPlaintext?: boolean | undefined;
  /** Trusted certificates in PEM. The certificates of the system by default. */
  readonly ca?: string | undefined;
  /** Called for each connection, so that a password can be changed without a restart. */
  readonly credentials?: (() => Promise<{ readonly user: string; readonly password: string }>) | undefined;
}

export interface MailOptions {
  readonly smtp: SmtpOptions;
  /** The sender address. */
  readonly from: string;
}

export interface Mailer {
  /** The domain of the sender address. */
  readonly domain: string;
  /**
   * Resolves when the server has accepted the message for at least one recipient; `refused` lists the rejected
   * recipients.
   */
  send(message: Message): Promise<{ readonly refused: readonly string[] }>;
}

const timeoutMilliseconds = 15_000;

export function mailerOf({ smtp, from }: MailOptions): Mailer {
  const { host, port, implicitTls = false, ca } = smtp;
  const allowsPlaintext = smtp.allowPlaintext === true || isLoopback(host);
  return {
    domain: from.slice(from.lastIndexOf('@') + 1).replace(/[>\s]/g, '') || 'kidp',
    async send({ id, to, subject, text }) {
      const credentials = await smtp.credentials?.();
      // Imported on first use: it takes 8 MB, and most replicas never send a message.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        host,
        port,
        secure: implicitTls,
        requireTLS: !implicitTls && !allowsPlaintext,
        connectionTimeout: timeoutMilliseconds,
        greetingTimeout: timeoutMilliseconds,
        socketTimeout: timeoutMilliseconds,
        tls: { minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) },
        ...(credentials === undefined ? {} : { auth: { user: credentials.user, pass: credentials.password } }),
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      try {
        const headers = { 'Auto-Submitted': 'auto-generated' };
        const { rejected } = await transport.sendMail({ from, to: [...to], subject, text, messageId: id, headers });
        return { refused: rejected.map(String) };
      } finally {
        transport.close();
      }
    },
  };
}
