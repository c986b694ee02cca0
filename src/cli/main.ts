/**
 * `kidp`, also as `kubectl kidp`: words from the command line come in, an exit code and text go out. Every command is a file
 * of its own, loaded only when it is called; what it decides, it asks of the rooms below.
 *
 * Exit codes: 0 done or clean, 1 violations or a failure, 2 bad input.
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { declareBroker } from './broker/command.ts';
import { declareCel } from './cel/command.ts';
import { declareCheck } from './check/command.ts';
import { declareClusters } from './clusters/command.ts';
import { declareConvert } from './convert/command.ts';
import { declareCost } from './cost/command.ts';
import { declareCrd } from './crd/command.ts';
import { declareCrdGate } from './crd-gate-options.ts';
import { declareExplain } from './explain/command.ts';
import { describeFailure, exitCodeOf } from './failure.ts';
import { declareGraph } from './graph/command.ts';
import { declareImpact } from './impact/command.ts';
import { declareOperators } from './operators/command.ts';
import { declareRollout } from './rollout/command.ts';
import { declareDispatch } from './serve/dispatch-flags.ts';
import { declareRest } from './serve/rest-flags.ts';
import { declareRollouts } from './serve/rollout-flags.ts';
import { declareTelemetry } from './serve/telemetry-flags.ts';
import { declareTest } from './test/command.ts';

// Who has read enough (`| head`) closes the pipe: no reason to complain.
for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe);

const code = await run(process.argv.slice(2));
// A pipe takes what it is given bit by bit; what has not gone through by the exit would be lost.
await Promise.all([process.stdout, process.stderr].map(flushed));
// Whatever still holds the event loop open (a connection that hangs, a process that will not end) must not hold the user.
process.exit(code);

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

async function run(words: string[]): Promise<number> {
  let code = 0;
  const program = new Command('kidp')
    .description('Policy and admission for Kubernetes: for authors, CI and clusters.')
    .version(version(), '-V, --version')
    .exitOverride()
    .showHelpAfterError('(kidp --help shows what there is)');

  declareCrdGate(program.command('up'))
    .description('start a real control plane with kidp in it, or join an existing cluster')
    .option('--reset', 'begin anew: forget the state of earlier runs')
    .option('--kubeconfig <file>', 'use this cluster instead of starting one; it is left as it was when stopped')
    .option('--directory <path>', 'where state is kept between runs', '.kidp')
    .option('--port <number>', 'port of the API server (default: the last one, or any free one)', port)
    .option('--webhook-port <number>', 'port of the admission webhook (default: any free one)', port)
    .option('--webhook-host <name>', 'name or address under which the cluster reaches this machine (default: on it)')
    .action(async (options) => {
      const { up } = await import('./up.ts');
      code = await up(options);
    });

  declareTelemetry(declareRest(declareRollouts(declareDispatch(declareCrdGate(program.command('serve'))))))
    .description('run one of several replicas in a cluster, as manifests/install does')
    .option('--kubeconfig <file>', "the cluster (default: $KUBECONFIG, or the pod's service account)")
    .option('--namespace <name>', 'of the platform itself (default: $POD_NAMESPACE, or kidp-system)')
    .option('--service <name>', 'Service in that namespace under which the API server finds the replicas')
    .option('--url <url>', 'https://HOST:PORT under which it finds them, outside the cluster')
    .option('--host <address>', 'address to listen on (default: all)')
    .option('--port <number>', 'port to listen on', port, 8443)
    .option('--reuse-port', 'let several replicas of one machine listen on one port')
    .addOption(
      new Option('--failure-policy <policy>', 'what becomes of requests while no replica answers')
        .choices(['Fail', 'Ignore'])
        .default('Fail'),
    )
    .option('--drain-seconds <number>', 'how long requests are still answered after SIGTERM', seconds, 5)
    .option('--exception-namespace <name...>', 'where PolicyExceptions count (default: policy-exceptions)')
    .addOption(
      new Option('--report-api <group>', 'the kinds that the findings of the scan are written as')
        .choices(['openreports.io', 'wgpolicyk8s.io'])
        .default('openreports.io'),
    )
    .addOption(new Option('--log-level <level>').choices(['debug', 'info', 'warn', 'error']).default('info'))
    .action(async (options) => {
      const { serve } = await import('./serve.ts');
      code = await serve(options);
    });

  declareCheck(program.command('check'), (result) => {
    code = result;
  });

  declareImpact(program.command('impact'), (result) => {
    code = result;
  });

  declareExplain(program.command('explain'), (result) => {
    code = result;
  });

  declareTest(program.command('test'), (result) => {
    code = result;
  });

  declareConvert(program.command('convert'), (result) => {
    code = result;
  });

  declareCrd(program.command('crd'), (result) => {
    code = result;
  });

  declareBroker(program.command('broker'), (result) => {
    code = result;
  });

  declareClusters(program.command('clusters'), (result) => {
    code = result;
  });

  declareOperators(program.command('operators'), (result) => {
    code = result;
  });

  declareRollout(program.command('rollout'), (result) => {
    code = result;
  });

  declareCel(program.command('cel'), (result) => {
    code = result;
  });

  declareGraph(program.command('graph'), (result) => {
    code = result;
  });

  declareCost(program.command('cost'), (result) => {
    code = result;
  });

  try {
    await program.parseAsync(words, { from: 'user' });
    return code;
  } catch (error) {
    // commander has already said what was wrong; --help and --version end here too.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`kidp: ${describeFailure(error)}\n`);
    return exitCodeOf(error);
  }
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

function port(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > 65_535) {
    throw new InvalidArgumentError('a port is a whole number from 1 to 65535');
  }
  return number;
}

function seconds(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 600) {
    throw new InvalidArgumentError('a whole number of seconds, at most 600');
  }
  return number;
}
