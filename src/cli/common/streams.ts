/** The streams that a command reads and writes; tests pass their own. */
import { escapeUnsafe } from '../../runtime/internal.ts';

export interface Streams {
  in: NodeJS.ReadableStream;
  out: OutputStream;
  err: OutputStream;
}

interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** The standard streams. Names and messages of others may contain commands to the terminal, which are written as `\u001b`. */
export const terminal: Streams = {
  out: escaping(process.stdout),
  err: escaping(process.stderr, process.env.GITHUB_ACTIONS === 'true' ? withoutCommands : undefined),
  in: process.stdin,
};

/** Returns the stream without unsafe characters, other than our own on a terminal: colours, and what redraws at the start of a write. */
export function escaping(stream: OutputStream, and = (text: string): string => text): OutputStream {
  return {
    write: (text) => stream.write(and(stream.isTTY === true ? escapeOthers(text) : escapeUnsafe(text))),
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.columns ?? 80;
    },
    get rows() {
      return stream.rows ?? 24;
    },
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes of our own output
const own = /^(?:\r\u001b\[2?K|\u001b\[\d+A\u001b\[0J)|\u001b\[(?:0|1|2|31|32|33|90)m/g;

function escapeOthers(text: string): string {
  let written = '';
  let end = 0;
  for (const code of text.matchAll(own)) {
    written += escapeUnsafe(text.slice(end, code.index)) + code[0];
    end = code.index + code[0].length;
  }
  return written + escapeUnsafe(text.slice(end));
}

/** Returns the text without workflow commands of GitHub Actions, which a runner carries out wherever a step prints them. */
export function withoutCommands(text: string): string {
  return text.replace(/^([^\S\n]*):(?=:)/gm, '$1: ').replaceAll('##[', '## [');
}
