/** The flags of `serve` for what becomes of admitted objects: docs/install.md. */
import { type Command, InvalidArgumentError } from 'commander';
import { port } from '../../common/flags.ts';

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
}

export function declareDispatch(command: Command): Command {
  return command
    .option('--no-dispatch', 'admission only: nothing is deployed, no namespace is made for a Team')
    .option('--broker-issuer <name>', "the platform's name in the tokens that it and its brokers make", 'kidp')
    .option('--kafka <host:port,…>', 'the Kafka cluster that brokers are reached through', servers)
    .option('--kafka-tls <directory>', 'ca.crt, tls.crt and tls.key for it, read anew when they change')
    .option('--status-host <address>', 'address that the status API listens on (default: as --host)')
    .option('--status-port <number>', 'port of the status API, where brokers report', port(0), 8444)
    .option('--status-url <url>', 'https://HOST[:PORT] under which brokers find it')
    .option(
      '--status-tls <directory>',
      'tls.crt and tls.key for it, read anew when they change (default: as the webhook)',
    )
    .option('--insecure-http', 'send tokens over plain HTTP too: for clusters whose mesh encrypts');
}

function servers(text: string): string[] {
  const list = text.split(',').map((each) => each.trim());
  const wrong = list.find((each) => !/^[^\s:/]+:\d{1,5}$/.test(each));
  if (wrong !== undefined)
    throw new InvalidArgumentError(`"${wrong}" is no server: write HOST:PORT, with commas between`);
  return list;
}
