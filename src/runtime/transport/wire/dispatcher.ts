/**
 * The interfaces for sending requests, implemented by the connection pool of the runtime and, behind a proxy, by
 * undici's agent.
 */
export type HeaderValues = Readonly<Record<string, string | string[] | undefined>>;

export interface WireRequest {
  readonly origin: string;
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  /** Alternating names and values. */
  readonly headers: string[];
  readonly body?: string | Uint8Array | null;
}

/** A request whose body is held back until the server asks for it. */
export interface HeldRequest extends Omit<WireRequest, 'path' | 'body'> {
  /** Called when the head is sent on a connection. An error that it throws is passed to `onResponseError`. */
  readonly path: () => string;
  readonly body: Uint8Array;
}

/** Controls one request in flight. */
export interface Flow {
  readonly paused: boolean;
  pause(): void;
  resume(): void;
  /** Aborts the request; afterwards only `onResponseError` is called. */
  abort(reason: Error): void;
}

/** Receives the events of one request: that it was sent, and its answer to the end or an error. */
export interface AnswerHandler {
  onRequestStart(flow: Flow): void;
  onResponseStart(flow: Flow, status: number, headers: HeaderValues): void;
  /** The bytes are valid only until this returns; copy them to keep them. */
  onResponseData(flow: Flow, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(flow: Flow, error: Error): void;
}

export interface HeldHandler extends AnswerHandler {
  /** The server has read the head and asks for the body (100 Continue). The body is written if this returns true. */
  onContinue(flow: Flow): boolean;
}

/** Sends requests in two steps: the head and, when the server asks for it, the body. */
export interface HoldingDispatcher {
  dispatchHeld(request: HeldRequest, handler: HeldHandler): void;
  close(): Promise<void>;
  destroy(): Promise<void>;
}

export interface Dispatcher {
  dispatch(request: WireRequest, handler: AnswerHandler): unknown;
  /** Accepts no new requests; resolves once all requests in flight have ended. */
  close(): Promise<void>;
  /** Aborts all requests in flight. */
  destroy(): Promise<void>;
}
