/** What went wrong, as the one sentence a user gets, and the exit code that goes with it. */

/** Bad input of the command line: a file that is not there, a document that does not parse. */
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
      return `this user may not do that (${error.message}): fix the owner or the mode, then run the command again.`;
    case undefined:
      // A bug of ours: the stack is what the report needs.
      return error.stack ?? error.message;
    default:
      return error.message;
  }
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}
