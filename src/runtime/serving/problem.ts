/** An error response: problem details (RFC 9457), with a code for programs and a sentence for people. */
import { STATUS_CODES } from 'node:http';

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Further fields of the response. */
  readonly more: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    code: string,
    message: string,
    options: { headers?: Readonly<Record<string, string>>; more?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message);
    this.name = 'Problem';
    this.status = status;
    this.code = code;
    this.headers = options.headers ?? {};
    this.more = options.more ?? {};
  }

  get body(): Readonly<Record<string, unknown>> {
    const { status, code, message: detail, more } = this;
    return { type: `urn:kidp:problem:${code}`, title: STATUS_CODES[status] ?? 'Error', status, code, detail, ...more };
  }
}

export const retryAfter = (milliseconds: number): Readonly<Record<string, string>> => ({
  'retry-after': String(Math.max(1, Math.ceil(milliseconds / 1000))),
});
