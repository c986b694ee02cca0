/**
 * `kidp`, also as `kubectl kidp`: arguments come in, text and an exit code go out. Decisions are made by the modules below
 * (policy, crd-compat, platform and so on), never here.
 *
 * One folder per command, with the same files in each:
 * - `command.ts` declares flags and help. Only these files are loaded at start; the rest is imported when the command runs.
 * - `options.ts` checks the flags and turns them into options (a folder `options/` if there are many).
 * - `run.ts` does the work. A command with subcommands has one file per verb beside it or in its place, such as `show.ts`, `change.ts`.
 * - `render.ts` writes the result for people (a folder `output/` if there are several formats).
 *
 * `documents/` reads manifests for all commands, `common/` has the other shared helpers.
 *
 * Exit codes: 0 success, 1 violations or a failure, 2 bad input.
 */
import { Command, CommanderError } from 'commander';
import { declareBroker } from './broker/command.ts';
import { declareCel } from './cel/command.ts';
import { declareCheck } from './check/command.ts';
import { declareClusters } from './clusters/command.ts';
import { describeFailure, exitCodeOf } from './common/failure.ts';
import { version } from './common/manifest.ts';
import { terminal } from './common/streams.ts';
import { declareConvert } from './convert/command.ts';
import { declareCost } from './cost/command.ts';
import { declareCrd } from './crd/command.ts';
import { declareExplain } from './explain/command.ts';
import { declareGraph } from './graph/command.ts';
import { declareImpact } from './impact/command.ts';
import { declareOperators } from './operators/command.ts';
import { declareRbac } from './rbac/command.ts';
import { declareRollout } from './rollout/command.ts';
import { declareServe } from './serve/command.ts';
import { declareTest } from './test/command.ts';
import { declareUninstall } from './uninstall/command.ts';
import { declareUp } from './up/command.ts';

/** Each command with the function that declares it, in the order of the help. */
const commands: readonly (readonly [string, (command: Command, done: (code: number) => void) => void])[] = [
  ['up', declareUp],
  ['serve', declareServe],
  ['check', declareCheck],
  ['impact', declareImpact],
  ['explain', declareExplain],
  ['test', declareTest],
  ['convert', declareConvert],
  ['crd', declareCrd],
  ['rbac', declareRbac],
  ['broker', declareBroker],
  ['clusters', declareClusters],
  ['operators', declareOperators],
  ['rollout', declareRollout],
  ['cel', declareCel],
  ['graph', declareGraph],
  ['cost', declareCost],
  ['uninstall', declareUninstall],
];

// A reader that closes the pipe early (`| head`) is no error.
for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe);

// Not awaited at the top level, which a single executable cannot do.
void main();

async function main(): Promise<void> {
  const code = await run(process.argv.slice(2));
  // A pipe accepts output bit by bit; output that has not been flushed by the exit would be lost.
  await Promise.all([process.stdout, process.stderr].map(flushed));
  // A connection that hangs or a process that does not end keeps the event loop open, but must not keep the user waiting.
  process.exit(code);
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

async function run(args: string[]): Promise<number> {
  let code = 0;
  const program = new Command('kidp')
    .description('Policy, admission and platform control for Kubernetes')
    .version(version(), '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show help for a command')
    .exitOverride()
    .showHelpAfterError('(run kidp --help for the list of commands)');
  for (const [name, declare] of commands) {
    declare(program.command(name), (result) => {
      code = result;
    });
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // commander has already printed what is wrong; --help and --version end here too.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.err.write(`kidp: ${describeFailure(error)}\n`);
    return exitCodeOf(error);
  }
}
