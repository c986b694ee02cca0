/** Turns errors into the sentence that a user reads, and into exit codes. */

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
  return code?.startsWith('input/') || code?.startsWith('config/') ? 2 : 1;
}

export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
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

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}
