/** The flags of `serve` for operators that are rolled out over clusters: docs/install.md. */
import { type Command, InvalidArgumentError } from 'commander';

export interface RolloutFlags {
  clusterKeys?: string;
  clusterKeysCommand?: string;
  charts?: string;
  chartNetwork?: string[];
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
      'roll operators out over clusters: the keys that their kubeconfigs are sealed with, read anew when they change',
    )
    .option(
      '--cluster-keys-command <program>',
      'in place of a file, a program that prints them, asked every 10 minutes',
    )
    .option('--charts <directory>', 'where charts are that are given by a path')
    .option(
      '--chart-network <cidr>',
      "a network that charts are fetched from although it is this machine's, link-local or a cloud's own, as 127.0.0.0/8; may be given again",
      (text: string, before: string[] = []) => [...before, text],
    )
    .option('--helm <file>', 'the program helm, 3.14 or newer (default: on the PATH)')
    .option('--rollout-settings <file>', 'who has to approve what, in which environment')
    .option('--smtp <host:port>', 'the mail server for messages about approvals', server)
    .option('--smtp-from <address>', 'whom these messages are from')
    .option('--smtp-tls', 'TLS from the first byte, as on port 465 (default: STARTTLS)')
    .option('--smtp-ca <file>', 'whom to trust there, in PEM form (default: whom the system trusts)')
    .option('--smtp-credentials <directory>', 'username and password for it, read for each message');
}

function server(text: string): { host: string; port: number } {
  const [, host, port] = /^([^\s/]+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined) throw new InvalidArgumentError(`"${text}" is no server: write HOST:PORT`);
  return { host, port: Number(port) };
}
