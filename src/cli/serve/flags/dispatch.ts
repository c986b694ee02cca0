/** The flags of `serve` for dispatching admitted objects to brokers: docs/install.md. */
import { type Command, InvalidArgumentError } from 'commander';
import { namespacePatterns, port } from '../../common/flags.ts';

export interface DispatchFlags {
  /** `--no-dispatch` makes it false. */
  dispatch: boolean;
  brokerIssuer: string;
  kafka?: string[];
  kafkaTls?: string;
  statusHost?: string;
  statusPort: number;
  statusUrl?: string;
  statusTls?: string;
  insecureHttp?: boolean;
  reservedNamespace?: string[];
}

export function declareDispatch(command: Command): Command {
  return command
    .option('--no-dispatch', 'Serve admission only: deploy nothing, create no namespaces for Teams')
    .option(
      '--broker-issuer <name>',
      "Set the platform's name in tokens: the issuer of its own, the audience of those of brokers",
      'kidp',
    )
    .option('--kafka <host:port,…>', 'Reach brokers through this Kafka cluster', servers)
    .option(
      '--kafka-tls <directory>',
      'Read ca.crt, tls.crt and tls.key for Kafka from this directory; reloaded when they change',
    )
    .option('--status-host <address>', 'Listen on this address for the status API (default: as --host)')
    .option('--status-port <number>', 'Listen on this port for the status API, where brokers report', port(0), 8444)
    .option('--status-url <url>', 'Set the https://HOST[:PORT] at which brokers reach the status API')
    .option(
      '--status-tls <directory>',
      'Read tls.crt and tls.key for the status API from this directory; reloaded when they change (default: as the webhook)',
    )
    .option(
      '--reserved-namespace <name...>',
      'Refuse Teams with these namespaces, by NAME or PREFIX* (default: default kube-*); always those of the platform, of exceptions and kube-system',
      namespacePatterns,
    )
    .option('--insecure-http', 'Allow tokens over plain HTTP, for clusters whose mesh encrypts');
}

function servers(text: string): string[] {
  const list = text.split(',').map((each) => each.trim());
  const wrong = list.find((each) => !/^[^\s:/]+:\d{1,5}$/.test(each));
  if (wrong !== undefined) throw new InvalidArgumentError(`"${wrong}": want HOST:PORT, separated by commas`);
  return list;
}
