/** A review that is not judged: answered with a status of HTTP, on which the API server follows the failurePolicy. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.headers = headers;
  }

  /** A metav1.Status: the API server and `curl` show its message. */
  get body(): string {
    const { message, status: code } = this;
    return JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code });
  }
}
