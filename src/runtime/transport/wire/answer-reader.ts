/**
 * Parses HTTP/1.1 answers from the bytes of one connection, in pieces of any size: one answer after the other, each to
 * a request that was announced with `expect`. Anything that is not exactly a valid answer (RFC 9112) ends the
 * connection with an error.
 */
import type { HeaderValues } from './dispatcher.ts';

interface AnswerEvents {
  /** 100 Continue: the server asks for the body of the request. The answer itself follows. */
  proceed(): void;
  head(status: number, headers: HeaderValues): void;
  /** The bytes are valid only until this returns. */
  data(chunk: Buffer): void;
  /** `reusable` means that another request may follow on the connection. */
  end(reusable: boolean): void;
}

/** The received bytes are not valid HTTP/1.1. */
export class BadAnswer extends Error {
  readonly code = 'KIDP_BAD_ANSWER';
}

/** Four times the limit of Node's HTTP; the heads of an API server have less than one kilobyte. */
const longestHead = 64 * 1024;
/** The limit for the size line of a chunk, and for trailers. */
const longestLine = 8 * 1024;
const lineFeed = 0x0a;

type State = 'idle' | 'head' | 'body' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'until-close';

export class AnswerReader {
  readonly #events: AnswerEvents;
  #state: State = 'idle';
  #isHeadRequest = false;
  /** The start of an incomplete head or line. */
  #held = '';
  /** The number of remaining bytes of the body or the chunk. */
  #left = 0;
  #reusable = true;

  constructor(events: AnswerEvents) {
    this.#events = events;
  }

  /** Announces that the next bytes are the answer to a request with this method. */
  expect(method: string): void {
    this.#state = 'head';
    this.#isHeadRequest = method === 'HEAD';
    this.#reusable = true;
  }

  /** Throws a `BadAnswer`, and any error that the events throw. */
  take(bytes: Buffer): void {
    let position = 0;
    while (position < bytes.length) {
      switch (this.#state) {
        case 'idle':
          throw new BadAnswer('bytes that nobody asked for');
        case 'head':
          position = this.#takeHead(bytes, position);
          break;
        case 'body':
        case 'chunk':
          position = this.#takeBody(bytes, position);
          break;
        case 'until-close':
          this.#events.data(position === 0 ? bytes : bytes.subarray(position));
          return;
        default:
          position = this.#takeLine(bytes, position);
      }
    }
  }

  /** Signals that the server sends no more bytes. Returns false if an answer is incomplete. */
  close(): boolean {
    if (this.#state === 'until-close') this.#finish(false);
    return this.#state === 'idle';
  }

  #takeHead(bytes: Buffer, position: number): number {
    const before = this.#held.length;
    // The empty line may have started in the held bytes.
    const text = this.#held + bytes.toString('latin1', position, position + longestHead);
    const end = text.indexOf('\r\n\r\n', Math.max(0, before - 3));
    if (end === -1) {
      if (text.length >= longestHead) throw new BadAnswer(`a head of more than ${longestHead} bytes`);
      this.#held = text;
      return bytes.length;
    }
    this.#held = '';
    this.#begin(text.slice(0, end));
    return position + end + 4 - before;
  }

  #begin(text: string): void {
    const { version, status, headers } = readHead(text);
    // 100 Continue, 103 Early Hints: the answer itself follows. A switch of protocols was not requested.
    if (status === 101) throw new BadAnswer('the server switches to another protocol');
    if (status === 100) this.#events.proceed();
    if (status < 200) return;
    const connection = tokensOf(headers.connection);
    this.#reusable = version === '1.1' ? !connection.includes('close') : connection.includes('keep-alive');
    this.#events.head(status, headers);
    const length = lengthOf(headers);
    if (this.#isHeadRequest || status === 204 || status === 304 || length === 0) this.#finish(this.#reusable);
    else if (length === 'chunked') this.#state = 'chunk-size';
    else if (length === undefined) this.#state = 'until-close';
    else {
      this.#state = 'body';
      this.#left = length;
    }
  }

  #takeBody(bytes: Buffer, position: number): number {
    const end = Math.min(bytes.length, position + this.#left);
    this.#left -= end - position;
    const isWhole = this.#left === 0;
    this.#events.data(position === 0 && end === bytes.length ? bytes : bytes.subarray(position, end));
    if (!isWhole) return end;
    if (this.#state === 'body') this.#finish(this.#reusable);
    else this.#state = 'chunk-end';
    return end;
  }

  #takeLine(bytes: Buffer, position: number): number {
    const end = bytes.indexOf(lineFeed, position);
    const line = this.#held + bytes.toString('latin1', position, end === -1 ? bytes.length : end);
    if (line.length > longestLine) throw new BadAnswer(`a line of more than ${longestLine} bytes`);
    if (end === -1) {
      this.#held = line;
      return bytes.length;
    }
    this.#held = '';
    if (!line.endsWith('\r')) throw new BadAnswer('a line that ends without a carriage return');
    this.#onLine(line.slice(0, -1));
    return end + 1;
  }

  #onLine(line: string): void {
    if (this.#state === 'trailers') {
      if (line === '') this.#finish(this.#reusable);
      return;
    }
    if (this.#state === 'chunk-end') {
      if (line !== '') throw new BadAnswer('a chunk that is longer than it says');
      this.#state = 'chunk-size';
      return;
    }
    const size = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line)?.[1];
    if (size === undefined) throw new BadAnswer(`a chunk of the size ${JSON.stringify(line.slice(0, 40))}`);
    this.#left = Number.parseInt(size, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'chunk';
  }

  #finish(reusable: boolean): void {
    this.#state = 'idle';
    this.#events.end(reusable);
  }
}

function readHead(text: string): { version: string; status: number; headers: HeaderValues } {
  const lines = text.split('\r\n');
  const first = /^HTTP\/(1\.[01]) ([1-5]\d\d)(?: .*)?$/.exec(lines[0] ?? '');
  if (first === null)
    throw new BadAnswer(`an answer that begins with ${JSON.stringify((lines[0] ?? '').slice(0, 40))}`);
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let index = 1; index < lines.length; index += 1) {
    const line = lines[index] as string;
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (colon === -1 || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) {
      throw new BadAnswer(`a header ${JSON.stringify(line.slice(0, 40))}`);
    }
    const value = line.slice(colon + 1).trim();
    const earlier = headers[name];
    headers[name] = earlier === undefined ? value : [...(Array.isArray(earlier) ? earlier : [earlier]), value];
  }
  return { version: first[1] as string, status: Number(first[2]), headers };
}

/**
 * Undefined means that the body ends with the connection. Two lengths, or a length and chunks, are rejected: they
 * enable request smuggling.
 */
function lengthOf(headers: HeaderValues): number | 'chunked' | undefined {
  const encoding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (encoding !== undefined) {
    if (length !== undefined || String(encoding).toLowerCase() !== 'chunked') {
      throw new BadAnswer(`an answer with the transfer encoding ${JSON.stringify(encoding)}`);
    }
    return 'chunked';
  }
  if (length === undefined) return undefined;
  if (typeof length !== 'string' || !/^\d{1,15}$/.test(length)) {
    throw new BadAnswer(`an answer with the length ${JSON.stringify(length)}`);
  }
  return Number(length);
}

const tokensOf = (value: string | string[] | undefined): string[] =>
  value === undefined
    ? []
    : String(value)
        .toLowerCase()
        .split(',')
        .map((token) => token.trim());
