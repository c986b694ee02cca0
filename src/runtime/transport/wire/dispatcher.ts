/** What carries requests: our own pool of connections or, where a proxy is on the way, undici's agent. */
export type HeaderValues = Readonly<Record<string, string | string[] | undefined>>;

export interface WireRequest {
  readonly origin: string;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: string | Uint8Array | null;
}

/** A request whose body is kept back until the server has asked for it. */
export interface HeldRequest extends Omit<WireRequest, 'path' | 'body'> {
  /** Called when the head is sent on a connection. An error that it throws is passed to `onResponseError`. */
  readonly path: () => string;
  readonly body: Uint8Array;
}

/** Of one request that is on its way. */
export interface Flow {
  readonly paused: boolean;
  pause(): void;
  resume(): void;
  /** After it, only `onResponseError` is called. */
  abort(reason: Error): void;
}

/** Hears of one request: that it goes out, and then of its answer to the end or of an error. */
export interface AnswerHandler {
  onRequestStart(flow: Flow): void;
  onResponseStart(flow: Flow, status: number, headers: HeaderValues): void;
  /** The bytes are there only until this returns: what is kept must be copied. */
  onResponseData(flow: Flow, chunk: Buffer): void;
  onResponseEnd(): void;
  onResponseError(flow: Flow, error: Error): void;
}

export interface HeldHandler extends AnswerHandler {
  /** The server has read the head and asks for the body (100 Continue), which is written as soon as this has returned true. */
  onContinue(flow: Flow): boolean;
}

/** Sends requests in two steps: the head, and when the server asks for it the body. */
export interface HoldingDispatcher {
  dispatchHeld(request: HeldRequest, handler: HeldHandler): void;
  close(): Promise<void>;
  destroy(): Promise<void>;
}

export interface Dispatcher {
  dispatch(request: WireRequest, handler: AnswerHandler): unknown;
  /** Takes nothing new; resolves once all that was under way has ended. */
  close(): Promise<void>;
  /** Ends all that is under way. */
  destroy(): Promise<void>;
}
