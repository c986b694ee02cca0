/** Hands a message to a mail server. Encrypted, unless the server is on this machine or whoever runs the platform says otherwise. */
import { isLoopback } from '../../../runtime/internal.ts';
import type { Message } from './message.ts';

interface SmtpOptions {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, as on port 465; otherwise it begins with STARTTLS. */
  readonly implicitTls?: boolean | undefined;
  /** Also without TLS. On this machine it always may. */
  readonly allowPlaintext?: boolean | undefined;
  /** PEM; left out, those of the system. */
  readonly ca?: string | undefined;
  /** Asked for each connection, so that a password can be changed without a restart. */
  readonly credentials?: (() => Promise<{ readonly user: string; readonly password: string }>) | undefined;
}

export interface MailOptions {
  readonly smtp: SmtpOptions;
  /** The address that messages come from. */
  readonly from: string;
}

export interface Mailer {
  /** The part of the address after the @. */
  readonly domain: string;
  /** Resolves when the server has taken it for somebody; `refused` are those that it does not take messages for. */
  send(message: Message): Promise<{ readonly refused: readonly string[] }>;
}

const patienceMilliseconds = 15_000;

export function mailerOf({ smtp, from }: MailOptions): Mailer {
  const { host, port, implicitTls = false, ca } = smtp;
  const mayBePlain = smtp.allowPlaintext === true || isLoopback(host);
  return {
    domain: from.slice(from.lastIndexOf('@') + 1).replace(/[>\s]/g, '') || 'kidp',
    async send({ id, to, subject, text }) {
      const credentials = await smtp.credentials?.();
      // Only now: it takes 8 MB, and most replicas never send a message.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        host,
        port,
        secure: implicitTls,
        requireTLS: !implicitTls && !mayBePlain,
        connectionTimeout: patienceMilliseconds,
        greetingTimeout: patienceMilliseconds,
        socketTimeout: patienceMilliseconds,
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
