/**
 * Sources of the private keys: a mounted file that is re-read when it changes, or a command that asks a key management
 * service. They stay in memory and are never stored in a Kubernetes Secret, where a reader of the sealed kubeconfigs
 * could read them too.
 */
import { spawn } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { type Clock, ConfigError, type Logger, silentLogger, systemClock } from '../../runtime/index.ts';
import { type KeyRing, readKeyRing } from './key-ring.ts';

export interface SealingKeys {
  /** The current keys. Rejects with a ConfigError if there never were any; later the last known keys are used. */
  current(): Promise<KeyRing>;
}

interface KeySourceOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
}

interface KeyFileOptions extends KeySourceOptions {
  /** Set in a pod, where key stores mount world-readable files and there is no other user. */
  readonly isAlone?: boolean;
}

/** `keysFromFile` checks the file on every call and reads it only when it changed. */
export function keysFromFile(path: string, { log = silentLogger, isAlone = false }: KeyFileOptions = {}): SealingKeys {
  let known: { readonly stamp: string; readonly ring: KeyRing } | undefined;
  const read = async (): Promise<KeyRing> => {
    const { ino, mtimeMs, size, mode } = await stat(path).catch((cause: NodeJS.ErrnoException) => {
      throw unreadable(path, cause);
    });
    const stamp = `${ino}:${mtimeMs}:${size}:${mode}`;
    if (known?.stamp === stamp) return known.ring;
    if (!isAlone && (mode & 0o007) !== 0) {
      throw new ConfigError({
        code: 'cluster-keys',
        message: `The cluster sealing keys in ${path} are readable by every user of this machine`,
        hint: 'Mount it with mode 0440, or run `chmod o= ` on it',
      });
    }
    const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      throw unreadable(path, cause);
    });
    known = { stamp, ring: await readKeyRing(text, path) };
    return known.ring;
  };
  return {
    async current() {
      try {
        return await read();
      } catch (error) {
        // An incomplete rotation, or a missing file for a moment.
        if (known === undefined) throw error;
        log.warn('reading cluster sealing keys failed; using the last known keys', { error });
        return known.ring;
      }
    },
  };
}

interface KeyCommandOptions extends KeySourceOptions {
  /** How long its output is cached. */
  readonly freshMilliseconds?: number;
  readonly timeoutMilliseconds?: number;
}

/**
 * `keysFromCommand` runs a program without a shell. It prints the key set; its standard error is not repeated, because
 * it may be secret.
 */
export function keysFromCommand(command: readonly string[], options: KeyCommandOptions = {}): SealingKeys {
  const {
    clock = systemClock,
    log = silentLogger,
    freshMilliseconds = 600_000,
    timeoutMilliseconds = 30_000,
  } = options;
  const place = `the output of ${command[0] ?? 'the command'}`;
  let known: { readonly at: number; readonly ring: KeyRing } | undefined;
  let asking: Promise<KeyRing> | undefined;
  const ask = async (): Promise<KeyRing> => {
    try {
      const ring = await readKeyRing(await outputOf(command, timeoutMilliseconds), place);
      known = { at: clock.monotonic(), ring };
      return ring;
    } catch (error) {
      if (known === undefined) throw error;
      log.warn('cluster key command failed; using the last known keys', { error });
      // Not retried at once: it may run into its full timeout again.
      known = { ...known, at: clock.monotonic() - freshMilliseconds + Math.min(freshMilliseconds, 30_000) };
      return known.ring;
    }
  };
  return {
    async current() {
      if (known !== undefined && clock.monotonic() - known.at < freshMilliseconds) return known.ring;
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
  };
}

const mostOutput = 65_536;

function outputOf([program = '', ...words]: readonly string[], timeoutMilliseconds: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string, hint = 'Run it manually to see the error'): void =>
      reject(
        new ConfigError({
          code: 'cluster-keys-command',
          message: `The cluster key command ${program} ${why}`,
          hint,
        }),
      );
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'ignore'], timeout: timeoutMilliseconds });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.length > mostOutput) child.kill('SIGKILL');
    });
    child.on('error', (error: NodeJS.ErrnoException) =>
      fail(`could not be started (${error.code ?? 'unknown'})`, 'Check the path and that it is executable'),
    );
    child.on('close', (code, signal) => {
      if (output.length > mostOutput) fail(`printed more than ${mostOutput} characters`);
      else if (code === 0) resolve(output);
      else fail(code === null ? `was terminated by ${signal}` : `exited with code ${code}`);
    });
  });
}

function unreadable(path: string, { code = 'unknown' }: NodeJS.ErrnoException): ConfigError {
  return new ConfigError({
    code: 'cluster-keys',
    message: `The cluster sealing keys in ${path} cannot be read (${code})`,
    hint: 'Create them with `kidp clusters keygen` and mount the file there',
  });
}
