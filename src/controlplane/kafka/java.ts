/** Finds Java and Maven, checks their versions, and turns failures into one sentence with the next step. */
import { join } from 'node:path';
import type { Environment } from '../cache.ts';
import { type CommandOutcome, runCommand } from '../command.ts';
import { ControlPlaneError } from '../errors.ts';
import { diskFull, noPermission } from '../go.ts';

const wantedJava = 17;

/** `JAVA_HOME` takes precedence, as in Maven. */
const javaProgram = ({ JAVA_HOME }: Environment): string => (JAVA_HOME ? join(JAVA_HOME, 'bin', 'java') : 'java');

/** Returns the program; fails if Java is missing or too old for Kafka. */
export async function requireJava(environment: Environment): Promise<string> {
  const program = javaProgram(environment);
  const { code, output, errors } = await runCommand(program, ['-version'], { directory: '/', environment }).catch(
    (cause: Error) => {
      throw noJava(cause.message, cause);
    },
  );
  if (code !== 0) throw noJava(errors.trim().split('\n')[0] ?? '');
  const version = javaVersion(errors + output);
  if (version !== undefined && version < wantedJava) {
    throw new ControlPlaneError({
      code: 'assets/java-too-old',
      message: `Java ${version} is too old to run Kafka`,
      hint: `Install Java ${wantedJava} or newer, or set JAVA_HOME to one.`,
    });
  }
  return program;
}

/** Parses `openjdk version "17.0.15" 2025-04-15`; before Java 9 it was `1.8.0`. */
export function javaVersion(said: string): number | undefined {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(said) ?? [];
  if (first === undefined) return undefined;
  return first === '1' ? Number(second) : Number(first);
}

interface MavenRun {
  directory: string;
  environment: Environment;
  onOutput?: (text: string) => void;
}

/** Maven's own settings (mirrors, proxies, local repository) apply. */
export async function maven(flags: readonly string[], run: MavenRun): Promise<void> {
  const outcome = await runCommand('mvn', ['--batch-mode', ...flags], run).catch((cause: Error) => {
    throw new ControlPlaneError({
      code: 'assets/no-maven',
      message: `Maven (mvn), which fetches Kafka, was not found on PATH (${cause.message})`,
      hint: 'Install Maven 3.6.3 or newer.',
      cause,
    });
  });
  if (outcome.code !== 0) throw explainMaven(outcome);
}

/**
 * `explainMaven` turns the output of Maven into an error with the next step. Maven writes errors to standard output.
 */
export function explainMaven({ output, errors }: Pick<CommandOutcome, 'output' | 'errors'>): ControlPlaneError {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Maven colours some lines regardless of its flags.
  const said = `${output}\n${errors}`.replace(/\u001b\[[\d;]*m/g, '');
  const lines = said.split('\n').map((line) => line.replace(/^\[ERROR\] /, '').trim());
  const about = (pattern: RegExp) => lines.find((line) => pattern.test(line)) ?? '';
  const full = /no space left on device|disk quota exceeded/i;
  if (full.test(said)) return diskFull(`mvn found no space: ${about(full)}`);
  const barred = /permission denied|read-only file system|AccessDenied/i;
  if (barred.test(said)) return noPermission(`mvn cannot write: ${about(barred)}`);
  const noHome = /JAVA_HOME/;
  if (noHome.test(said)) return noJava(about(noHome));
  const offline =
    /could not transfer|unknown host|connection (refused|reset|timed out)|connect timed out|read timed out|network is unreachable|offline mode|no route to host|status( code)?:? 5\d\d/i;
  if (offline.test(said)) {
    return new ControlPlaneError({
      code: 'assets/no-network',
      message: `the jars of Kafka could not be downloaded: ${about(offline)}`,
      hint: 'Check the network and Maven’s settings.xml, then run the command again: what was downloaded is kept.',
    });
  }
  return new ControlPlaneError({
    code: 'assets/build-failed',
    message: `mvn failed: ${lines
      .filter((line) => line !== '')
      .slice(-8)
      .join('\n')}`,
    hint: 'Run the command again.',
  });
}

function noJava(why: string, cause?: unknown): ControlPlaneError {
  return new ControlPlaneError({
    code: 'assets/no-java',
    message: `Java, which runs Kafka, was not found (${why})`,
    hint: `Install Java ${wantedJava} or newer and Maven, or set JAVA_HOME.`,
    cause,
  });
}
