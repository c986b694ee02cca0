/** The flags of `serve` for rollouts of operators over clusters: docs/install.md. */
import { type Command, InvalidArgumentError } from 'commander';

export interface RolloutFlags {
  clusterKeys?: string;
  clusterKeysCommand?: string;
  charts?: string;
  helm?: string;
  rolloutSettings?: string;
  smtp?: { readonly host: string; readonly port: number };
  smtpFrom?: string;
  smtpTls?: boolean;
  smtpCa?: string;
  smtpCredentials?: string;
}

export function declareRollouts(command: Command): Command {
  return command
    .option(
      '--cluster-keys <file>',
      'Enable rollouts, and decrypt kubeconfigs of clusters with the keys of this file; reloaded when it changes',
    )
    .option(
      '--cluster-keys-command <program>',
      'Run this program for the keys instead of reading a file; called every 10 minutes',
    )
    .option('--charts <directory>', 'Look for charts given by path in this directory')
    .option('--helm <file>', 'Use this helm binary, 3.14 or newer (default: the one on the PATH)')
    .option('--rollout-settings <file>', 'Read from this file which rollouts need whose approval')
    .option('--smtp <host:port>', 'Send mail about approvals through this server', server)
    .option('--smtp-from <address>', 'Set the sender address of these mails')
    .option('--smtp-tls', 'Use implicit TLS, as on port 465 (default: STARTTLS)')
    .option('--smtp-ca <file>', 'Trust these CA certificates (PEM) for the mail server (default: those of the system)')
    .option('--smtp-credentials <directory>', 'Read username and password from this directory, for each mail');
}

function server(text: string): { host: string; port: number } {
  const [, host, port] = /^([^\s/]+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined) throw new InvalidArgumentError(`"${text}": want HOST:PORT`);
  return { host, port: Number(port) };
}
