/** The words of `kidp broker`, and what each is for. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { port } from '../common/flags.ts';
import type { KafkaBrokerFlags, KubernetesBrokerFlags, VerifyFlags } from './options.ts';

export interface BrokerStreams {
  out: Pick<NodeJS.WritableStream, 'write'>;
  err: Pick<NodeJS.WritableStream, 'write'>;
}

/** `done` gets the exit code. What it takes is loaded only when it is asked for. */
export function declareBroker(
  command: Command,
  done: (code: number) => void,
  streams: BrokerStreams = { out: process.stdout, err: process.stderr },
): void {
  command.description('run a reference broker, or try whether a broker keeps the contract (docs/brokers.md)');

  serving(command.command('kubernetes'))
    .description('bring about Services, Databases, Caches and Secrets in a Kubernetes cluster')
    .option('--kubeconfig <file>', "the cluster (default: $KUBECONFIG, or the pod's service account)")
    .option('--namespace <name>', 'where records, the Lease and the keys of the broker are', 'kidp-brokers')
    .option(
      '--management-cluster',
      'the cluster is the platform’s own: credentials are reported as Secrets that are there',
    )
    .option('--image <engine=image...>', 'the image of an engine in place of the usual one', pairs)
    .action(async (options: KubernetesBrokerFlags) => {
      const { runKubernetesBroker } = await import('./run.ts');
      done(await runKubernetesBroker(options));
    });

  serving(command.command('kafka'))
    .description('bring about Topics on a Kafka')
    .requiredOption('--topics-kafka <servers>', 'the Kafka whose topics they are, as HOST:PORT,…', list)
    .option('--advertised <servers>', 'what users of a topic are told to connect to (default: the same)', list)
    .action(async (options: KafkaBrokerFlags) => {
      const { runKafkaBroker } = await import('./run.ts');
      done(await runKafkaBroker(options));
    });

  talking(command.command('verify'))
    .description('try whether a broker keeps the contract, whoever wrote it')
    .argument('<url>', 'of the broker')
    .option('--key <file>', 'the private key of the platform that the broker trusts, as JSON Web Key (Ed25519)')
    .option('--issuer <name>', 'the issuer of the platform', 'kidp')
    .option('--broker-issuer <name>', 'the issuer of the broker’s tokens (default: its name)')
    .option(
      '--listen <host:port>',
      'where its reports are taken, and where the platform’s keys are shown',
      '127.0.0.1:0',
    )
    .option('--reply-url <url>', 'the address of that as the broker reaches it')
    .addOption(
      new Option('--kind <kind>', 'what to deploy').choices(['Database', 'Service', 'Cache', 'Topic', 'Secret']),
    )
    .option('--spec <file>', 'its spec, in YAML or JSON (default: something small)')
    .option('--namespace <name>', 'of what is deployed', 'kidp-conformance')
    .option('--parameter <name=value...>', 'parameters of the target', pairs)
    .option('--kafka <servers>', 'try it through this Kafka too, as HOST:PORT,…', list)
    .option('--timeout <seconds>', 'how long a deployment may take', seconds, 120)
    .option('--insecure-http', 'take the broker’s keys over plain HTTP beyond this machine')
    .addOption(new Option('-o, --output <format>', 'how to say it').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
One small object is deployed, changed and deleted; forged tokens and broken requests must be refused.
Without --key a key is made up: start the broker with the platform's keys at http://LISTEN/.well-known/jwks.json.

Exit codes: 0 it keeps the contract, 1 it does not, 2 bad input or no broker there.`,
    )
    .action(async (url: string, options: VerifyFlags) => {
      const { verify } = await import('./verify.ts');
      done(await verify(url, options, streams));
    });
}

/** What every reference broker is told. */
function serving(command: Command): Command {
  return talking(command)
    .requiredOption('--name <name>', 'of the Broker object of the platform')
    .requiredOption(
      '--platform-keys <url|file>',
      'the public keys of the platform: its /.well-known/jwks.json, or a file',
    )
    .option('--issuer <name>', 'of the platform', 'kidp')
    .option('--status-url <url>', 'where reports go over HTTP: the platform’s /v1/status')
    .option('--platform-ca <file>', 'certificates (PEM) that the platform is trusted by (default: those of the system)')
    .option('--insecure-http', 'fetch keys and send tokens over plain HTTP beyond this machine, where a mesh encrypts')
    .option('--keys <file>', 'where the keys of the broker are kept')
    .option(
      '--token-issuer <name>',
      'iss of its tokens, as spec.identity.issuer of the Broker says (default: its name)',
    )
    .option('--host <address>', 'address to listen on', '0.0.0.0')
    .option('--port <number>', 'port to listen on', port(0), 8080)
    .option('--tls-cert <file>', 'certificate (PEM) to serve with; read again when it changes')
    .option('--tls-key <file>', 'its key')
    .option('--kafka <servers>', 'take requests from this Kafka and report to it, as HOST:PORT,…', list)
    .option('--heartbeat <seconds>', 'how often it says that it is alive', seconds, 15)
    .option('--prices <file>', 'what things cost an hour, in YAML or JSON; without it no costs are reported')
    .option('--usage-interval <seconds>', 'how often costs are reported', seconds, 3600)
    .option('--lease <seconds>', 'how long an instance that is not heard of counts as there', seconds, 15)
    .option(
      '--tombstones <days>',
      'how long what was deleted is remembered; longer than Kafka keeps requests',
      seconds,
      30,
    )
    .option('--debug-ledger', 'list every claim at /v1/ledger, for tests')
    .addOption(new Option('--log-level <level>').choices(['debug', 'info', 'warn', 'error']).default('info'))
    .addHelpText(
      'after',
      `
Nothing is kept in the process: any number of instances may run, one of them works, and another goes on where it was ended.
What it must be told, what it answers and what it reports: docs/brokers.md.`,
    );
}

/** How Kafka is reached, where there is one. */
function talking(command: Command): Command {
  return command
    .option('--kafka-ca <file>', 'certificates (PEM) that Kafka is trusted by; read again for each connection')
    .option('--kafka-cert <file>', 'certificate to show to Kafka')
    .option('--kafka-key <file>', 'its key')
    .option('--request-topic <name>', 'the topic of requests', 'deployment-requests')
    .option('--status-topic <name>', 'the topic of reports', 'deployment-status');
}

function list(text: string): string[] {
  const servers = text.split(',').map((each) => each.trim());
  if (servers.every((each) => /^[^\s:/]+:[0-9]{1,5}$/.test(each))) return servers;
  throw new InvalidArgumentError('servers are HOST:PORT, with commas between them');
}

function pairs(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('it is NAME=VALUE');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function seconds(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number <= 31_536_000) return number;
  throw new InvalidArgumentError('it is a whole number above 0');
}
