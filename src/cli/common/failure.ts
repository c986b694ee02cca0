/** Turns errors into the sentence that a user reads, and into exit codes. */
import { isSea } from 'node:sea';
import { serverPackages } from './manifest.ts';

/** Bad input of the command line: a missing file, a document that does not parse. */
export class InputError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'InputError';
    this.code = `input/${code}`;
  }
}

export function exitCodeOf(error: unknown): number {
  const code = codeOf(error);
  if (missingPackage(error) !== undefined) return 2;
  return code?.startsWith('input/') || code?.startsWith('config/') ? 2 : 1;
}

export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const missing = missingPackage(error);
  if (missing !== undefined) return describeMissing(missing);
  switch (codeOf(error)) {
    case 'ENOSPC':
      return `the disk is full (${error.message}): free some space, then run the command again.`;
    case 'EACCES':
    case 'EPERM':
      return `permission denied (${error.message}): fix the owner or the mode, then run the command again.`;
    case undefined:
      // An error without a code is a bug, and its report needs the stack.
      return error.stack ?? error.message;
    default:
      return error.message;
  }
}

/** The package of `serverPackages` that the error says is not installed. A single executable can load only what is built into Node. */
function missingPackage(error: unknown): string | undefined {
  if (!/^(?:ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND|ERR_UNKNOWN_BUILTIN_MODULE)$/.test(codeOf(error) ?? ''))
    return undefined;
  const [, name] =
    /^(?:Cannot find (?:package|module) '|No such built-in module: )([\w@/.-]+)/.exec((error as Error).message) ?? [];
  return name !== undefined && name in serverPackages() ? name : undefined;
}

function describeMissing(name: string): string {
  if (isSea()) {
    return `the package "${name}" is not in the single executable: servers run from the image or from the npm package. Use \`npx kidp\` or the image for this command.`;
  }
  const all = Object.entries(serverPackages()).map(([each, range]) => `'${each}@${range}'`);
  return `the package "${name}" is not installed: servers need packages that the command line does without. Run \`npm install ${all.join(' ')}\`, then run the command again (the image contains them).`;
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}
