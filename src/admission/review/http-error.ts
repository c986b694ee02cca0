/** An HTTP error response for a review that could not be evaluated. The API server then applies the failurePolicy. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.headers = headers;
  }

  /** The response body: a metav1.Status, whose message the API server and `curl` show. */
  get body(): string {
    const { message, status: code } = this;
    return JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code });
  }
}
