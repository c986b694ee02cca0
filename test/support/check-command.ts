/** Runs commands in the process of a test, in particular `kidp check` and `kidp impact`. */
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Command } from 'commander';
import { declareCheck } from '../../src/cli/check/command.ts';
import { describeFailure, exitCodeOf } from '../../src/cli/common/failure.ts';
import { declareImpact } from '../../src/cli/impact/command.ts';

export interface CommandRun {
  /** The folder that relative paths of flags are in; it is removed from the output. */
  directory?: string;
  standardInput?: string;
  tty?: boolean;
}

export const runCheck = (flags: readonly string[], run: CommandRun = {}) =>
  runCommand(declareCheck, inDirectory(flags, run.directory), run);
export const runImpact = (flags: readonly string[], run: CommandRun = {}) =>
  runCommand(declareImpact, inDirectory(flags, run.directory), run);

export async function runCommand(declare: typeof declareCheck, flags: readonly string[], run: CommandRun) {
  const written = { out: '', err: '' };
  const streams = {
    in: Readable.from([run.standardInput ?? '']),
    out: { write: (text: string) => (written.out += text), isTTY: run.tty ?? false },
    err: { write: (text: string) => (written.err += text) },
  };
  let code = -1;
  const command = new Command('test').exitOverride().configureOutput({ writeErr: (text) => (written.err += text) });
  declare(command, (result) => (code = result), streams);
  try {
    await command.parseAsync([...flags], { from: 'user' });
  } catch (error) {
    // main.ts does the same.
    written.err += `kidp: ${describeFailure(error)}\n`;
    code = exitCodeOf(error);
  }
  const without = (text: string) => (run.directory === undefined ? text : text.replaceAll(`${run.directory}/`, ''));
  // The progress depends on how busy the machine is.
  const err = written.err.replace(/^(?:reading|judged|asked about|compared) .*\n/gm, '');
  return { code, out: without(written.out), err: without(err) };
}

const pathFlags = ['-f', '--filename', '--old', '--params'];

function inDirectory(flags: readonly string[], directory: string | undefined): string[] {
  let isPath = false;
  return flags.map((flag) => {
    if (flag.startsWith('-') && flag !== '-') {
      isPath = pathFlags.includes(flag);
      return flag;
    }
    return isPath && flag !== '-' && directory !== undefined ? join(directory, flag) : flag;
  });
}
