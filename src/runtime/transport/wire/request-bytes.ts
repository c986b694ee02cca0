/** Encodes requests. It rejects values that would split a request or inject a header. */
import type { HeldRequest, WireRequest } from './dispatcher.ts';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const badPath = /[^\x21-\xff]/;
const badValue = /[^\t\x20-\x7e\x80-\xff]/;
const withBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** Returns the request; a string must be written as Latin-1. */
export function requestBytes({ method, path, headers, body }: WireRequest, host: string): string | Buffer {
  const head = requestHead({ method, path, headers }, host);
  if (body === undefined || body === null) {
    return `${head}${withBody.has(method) ? 'content-length: 0\r\n' : ''}\r\n`;
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const text = `${head}content-length: ${bytes.length}\r\n\r\n`;
  // In one piece, so that the head is not sent in a separate packet. A body with as many bytes as characters is ASCII.
  if (typeof body === 'string' && bytes.length === body.length) return text + body;
  return Buffer.concat([Buffer.from(text, 'latin1'), bytes]);
}

/** Returns the request without its body, which is sent when the server asks for it. It must be written as Latin-1. */
export function heldBytes({ method, path, headers, body }: HeldRequest, host: string): string {
  const head = requestHead({ method, path: path(), headers }, host);
  return `${head}expect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`;
}

function requestHead(
  { method, path, headers }: Pick<WireRequest, 'method' | 'path' | 'headers'>,
  host: string,
): string {
  if (!token.test(method)) throw new TypeError('a method that is no word');
  if (!path.startsWith('/') || badPath.test(path)) throw new TypeError('a path that cannot be sent');
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    const value = headers[index + 1] as string;
    if (!token.test(name)) throw new TypeError('a header whose name is no word');
    if (badValue.test(value)) throw new TypeError(`a value of the header "${name}" that cannot be sent`);
    head += `${name}: ${value}\r\n`;
  }
  return head;
}
