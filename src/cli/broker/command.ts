/** The flags and the help of `kidp broker`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { declareAllowedAddresses } from '../common/allowed-addresses.ts';
import { port } from '../common/flags.ts';
import { type Streams, terminal } from '../common/streams.ts';
import type { KafkaBrokerFlags, KubernetesBrokerFlags, VerifyFlags } from './options.ts';

export interface BrokerStreams {
  out: Pick<Streams['out'], 'write'>;
  err: Pick<Streams['err'], 'write'>;
}

/** Declares `kidp broker`; `done` gets the exit code. */
export function declareBroker(command: Command, done: (code: number) => void, streams: BrokerStreams = terminal): void {
  command.description('Run a reference broker, or verify that a broker conforms to the contract');

  serving(command.command('kubernetes'))
    .description('Run a broker that deploys Services, Databases, Caches and Secrets to a Kubernetes cluster')
    .option(
      '--management-cluster',
      'Report credentials as references to Secrets, because the cluster is the platform’s own',
    )
    .option('--image <engine=image...>', 'Override the image of an engine', pairs)
    .action(async (options: KubernetesBrokerFlags) => {
      const { runKubernetesBroker } = await import('./run.ts');
      done(await runKubernetesBroker(options));
    });

  serving(command.command('kafka'))
    .description('Run a broker that creates Topics in a Kafka cluster')
    .requiredOption('--topics-kafka <servers>', 'Create topics in this Kafka cluster, HOST:PORT,…', list)
    .option(
      '--advertised <servers>',
      'Report these bootstrap servers to the users of a topic (default: the same)',
      list,
    )
    .option(
      '--metrics-token <file>',
      'Serve /metrics to callers with the bearer token in this file (default: to nobody)',
    )
    .action(async (options: KafkaBrokerFlags) => {
      const { runKafkaBroker } = await import('./run.ts');
      done(await runKafkaBroker(options));
    });

  talking(command.command('verify'))
    .description('Verify that a broker conforms to the contract')
    .argument('<url>', 'URL of the broker')
    .option(
      '--key <file>',
      'Sign with this private key of the platform, which the broker trusts, a JSON Web Key (Ed25519)',
    )
    .option('--issuer <name>', 'Set the issuer of the platform', 'kidp')
    .option('--broker-issuer <name>', 'Expect this issuer in the tokens of the broker (default: its name)')
    .option('--listen <host:port>', 'Listen here for reports, and publish the platform’s keys', '127.0.0.1:0')
    .option('--reply-url <url>', 'Set the URL at which the broker reaches that address')
    .addOption(
      new Option('--kind <kind>', 'Choose the kind to deploy').choices([
        'Database',
        'Service',
        'Cache',
        'Topic',
        'Secret',
      ]),
    )
    .option('--spec <file>', 'Read its spec from this file, YAML or JSON (default: a small one)')
    .option('--namespace <name>', 'Deploy to this namespace', 'kidp-conformance')
    .option('--parameter <name=value...>', 'Set parameters of the target', pairs)
    .option('--kafka <servers>', 'Verify it through this Kafka cluster too, HOST:PORT,…', list)
    .option('--timeout <seconds>', 'Wait this long for a deployment', seconds, 120)
    .option('--insecure-http', 'Allow fetching the keys of the broker over plain HTTP from other machines')
    .addOption(
      new Option('-o, --output <format>', 'Choose the output format').choices(['text', 'json']).default('text'),
    )
    .addHelpText(
      'after',
      `
Deploys, changes and deletes one small object, and expects the broker to reject forged tokens and malformed requests.
Without --key a key is generated: start the broker with the platform's keys at http://LISTEN/.well-known/jwks.json.

Exit codes: 0 it conforms, 1 it does not, 2 bad input or the broker is unreachable.`,
    )
    .action(async (url: string, options: VerifyFlags) => {
      const { verify } = await import('./verify.ts');
      done(await verify(url, options, streams));
    });
}

/** Adds the flags of every reference broker. */
function serving(command: Command): Command {
  return declareAllowedAddresses(talking(command))
    .requiredOption('--name <name>', 'Set the name of the Broker object on the platform')
    .requiredOption(
      '--platform-keys <url|file>',
      'Trust these public keys of the platform: its /.well-known/jwks.json, or a file',
    )
    .option('--issuer <name>', 'Set the issuer of the platform', 'kidp')
    .option('--status-url <url>', 'Send reports over HTTP to this URL: the platform’s /v1/status')
    .option('--platform-ca <file>', 'Trust these CA certificates (PEM) for the platform (default: those of the system)')
    .option(
      '--platform-ca-configmap <namespace/name>',
      'Trust the CA certificates that a platform in this cluster publishes in this ConfigMap; read again when they change',
    )
    .option('--insecure-http', 'Allow keys and tokens over plain HTTP to other machines, if a mesh encrypts')
    .option('--keys <file>', 'Keep the keys of the broker in this file (default: a Secret in --namespace)')
    .option(
      '--kubeconfig <file>',
      "Use this cluster, to deploy to or to register in (default: $KUBECONFIG, or the pod's service account)",
    )
    .option(
      '--namespace <name>',
      'Keep the keys, and the records and Lease of a Kubernetes broker, in this namespace',
      'kidp-brokers',
    )
    .option(
      '--register <host>',
      'Register with a platform in this cluster: serve under this host name with an own CA, and publish the CA and the public keys in the status of the Broker',
    )
    .option(
      '--token-issuer <name>',
      'Set iss of its tokens, as in spec.identity.issuer of the Broker (default: its name)',
    )
    .option('--host <address>', 'Listen on this address', '0.0.0.0')
    .option('--port <number>', 'Listen on this port', port(0), 8080)
    .option('--tls-cert <file>', 'Serve with this certificate (PEM); reloaded when it changes')
    .option('--tls-key <file>', 'Use this key for --tls-cert')
    .option('--kafka <servers>', 'Consume requests from this Kafka cluster and report to it, HOST:PORT,…', list)
    .option('--heartbeat <seconds>', 'Send a heartbeat at this interval', seconds, 15)
    .option('--prices <file>', 'Read hourly prices from this file, YAML or JSON; without it no costs are reported')
    .option('--usage-interval <seconds>', 'Report costs at this interval', seconds, 3600)
    .option('--lease <seconds>', 'Take over from an instance that has been silent for this long', seconds, 15)
    .option(
      '--tombstones <days>',
      'Remember deletions for this many days; must exceed the retention of requests in Kafka',
      seconds,
      30,
    )
    .option('--debug-ledger', 'List every claim at /v1/ledger, for tests')
    .addOption(
      new Option('--log-level <level>', 'Log entries of this level and above')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .addHelpText(
      'after',
      `
A broker keeps no state in the process: run any number of instances, one is active, and another takes over if it ends.
See docs/brokers.md for the configuration and the contract.`,
    );
}

/** Adds the flags for the connection to Kafka. */
function talking(command: Command): Command {
  return command
    .option('--kafka-ca <file>', 'Trust these CA certificates (PEM) for Kafka; reloaded for each connection')
    .option('--kafka-cert <file>', 'Present this client certificate to Kafka')
    .option('--kafka-key <file>', 'Use this key for --kafka-cert')
    .option('--request-topic <name>', 'Set the topic of requests', 'deployment-requests')
    .option('--status-topic <name>', 'Set the topic of reports', 'deployment-status');
}

function list(text: string): string[] {
  const servers = text.split(',').map((each) => each.trim());
  if (servers.every((each) => /^[^\s:/]+:[0-9]{1,5}$/.test(each))) return servers;
  throw new InvalidArgumentError('want HOST:PORT, separated by commas');
}

function pairs(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('want NAME=VALUE');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function seconds(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number <= 31_536_000) return number;
  throw new InvalidArgumentError('want a whole number above 0');
}
