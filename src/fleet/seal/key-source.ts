/**
 * Where the private keys come from: a file that is mounted and read anew when it changes, or a program that asks a key management
 * service and prints them. They are in memory and nowhere else; never in a Secret of Kubernetes, where who reads what is sealed could
 * read them too.
 */
import { spawn } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { type Clock, ConfigError, type Logger, silentLogger, systemClock } from '../../runtime/index.ts';
import { type KeyRing, readKeyRing } from './key-ring.ts';

export interface SealingKeys {
  /** As they are now. Rejects with a ConfigError where there never were any; later the last ones go on. */
  current(): Promise<KeyRing>;
}

interface KeySourceOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
}

interface KeyFileOptions extends KeySourceOptions {
  /** As in a pod, where key stores mount files that every user may read, and there is no other user. */
  readonly isAlone?: boolean;
}

/** Looked at each time, read only when it has changed. */
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
        message: `The keys for clusters in ${path} can be read by every user of this machine`,
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
        // Half of a rotation, or gone for a moment.
        if (known === undefined) throw error;
        log.warn('the keys for clusters cannot be read anew, the last ones go on', { error });
        return known.ring;
      }
    },
  };
}

interface KeyCommandOptions extends KeySourceOptions {
  /** How long its answer is used. */
  readonly freshMilliseconds?: number;
  readonly timeoutMilliseconds?: number;
}

/** A program, without a shell. It prints the key set; what it says on standard error is not repeated, it may be secret. */
export function keysFromCommand(command: readonly string[], options: KeyCommandOptions = {}): SealingKeys {
  const {
    clock = systemClock,
    log = silentLogger,
    freshMilliseconds = 600_000,
    timeoutMilliseconds = 30_000,
  } = options;
  const place = `what ${command[0] ?? 'the command'} prints`;
  let known: { readonly at: number; readonly ring: KeyRing } | undefined;
  let asking: Promise<KeyRing> | undefined;
  const ask = async (): Promise<KeyRing> => {
    try {
      const ring = await readKeyRing(await outputOf(command, timeoutMilliseconds), place);
      known = { at: clock.monotonic(), ring };
      return ring;
    } catch (error) {
      if (known === undefined) throw error;
      log.warn('the program for the keys of clusters failed, the last ones go on', { error });
      // Not again at once: it may be that it takes its whole time to fail.
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
    const fail = (why: string, hint = 'Run it by hand to see what it needs'): void =>
      reject(
        new ConfigError({
          code: 'cluster-keys-command',
          message: `The program ${program} that gives the keys for clusters ${why}`,
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
      fail(`cannot be started (${error.code ?? 'unknown'})`, 'Check the path and that it may be executed'),
    );
    child.on('close', (code, signal) => {
      if (output.length > mostOutput) fail(`prints more than ${mostOutput} characters`);
      else if (code === 0) resolve(output);
      else fail(code === null ? `was ended by ${signal}` : `ended with exit code ${code}`);
    });
  });
}

function unreadable(path: string, { code = 'unknown' }: NodeJS.ErrnoException): ConfigError {
  return new ConfigError({
    code: 'cluster-keys',
    message: `The keys for clusters in ${path} cannot be read (${code})`,
    hint: 'Make one with `kidp clusters keygen`, and mount it there',
  });
}
