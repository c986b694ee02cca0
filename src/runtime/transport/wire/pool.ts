/**
 * A pool of reusable connections to one server, with one request at a time on each.
 *
 * It exists because a client of an API server needs only a small part of HTTP, and a general implementation is
 * expensive: undici's parser is WebAssembly, which every process compiles and optimises again. In a process that has
 * just started, as a controller has when it lists, that takes a quarter of the CPU time of listing 10,000 objects.
 */
import type { ConnectionBudget } from './budget.ts';
import { Connection, type OpenSocket, type Task } from './connection.ts';
import type {
  AnswerHandler,
  Dispatcher,
  Flow,
  HeldHandler,
  HeldRequest,
  HoldingDispatcher,
  WireRequest,
} from './dispatcher.ts';

interface PoolOptions {
  open: OpenSocket;
  host: string;
  /** The maximal number of connections; further requests wait. */
  connections: number;
  connectMilliseconds: number;
  /** The time after which an idle connection is closed. */
  idleMilliseconds: number;
  /** Shared with other pools. */
  budget?: ConnectionBudget | undefined;
}

export class Pool implements Dispatcher, HoldingDispatcher {
  readonly #options: PoolOptions;
  readonly #connections = new Set<Connection>();
  /** The most recently used connection is reused first, so that the others can be closed. */
  readonly #idle: Connection[] = [];
  #waiting: Task[] = [];
  /** The number of connections requested from the budget and not granted yet. */
  #asked = 0;
  #closing: PromiseWithResolvers<void> | undefined;
  /** The TLS session for the next connection, which halves its handshake. */
  #session: Buffer | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  dispatch(request: WireRequest, handler: AnswerHandler): void {
    this.#carry({ held: false, request, handler });
  }

  dispatchHeld(request: HeldRequest, handler: HeldHandler): void {
    this.#carry({ held: true, request, handler });
  }

  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers();
    for (const connection of this.#idle.splice(0)) connection.end();
    this.#closeIfDone();
    return this.#closing.promise;
  }

  destroy(): Promise<void> {
    const done = this.close();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { handler } of waiting) handler.onResponseError(nowhere, closed());
    for (const connection of [...this.#connections]) connection.destroy(closed());
    return done;
  }

  #carry(task: Task): void {
    if (this.#closing !== undefined) {
      task.handler.onResponseError(nowhere, closed());
      return;
    }
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      this.#options.budget?.busy(idle);
      idle.carry(task);
    } else if (this.#connections.size + this.#asked >= this.#options.connections) this.#waiting.push(task);
    else this.#open(task);
  }

  #open(task: Task): void {
    const { budget } = this.#options;
    if (budget === undefined) {
      this.#connect(task);
      return;
    }
    this.#asked += 1;
    this.#waiting.push(task);
    budget.take(() => {
      this.#asked -= 1;
      const next = this.#waiting.shift();
      // Another connection has become free for the request in the meantime.
      if (next === undefined) budget.release();
      else this.#connect(next);
    });
  }

  #connect(task: Task): void {
    const connection = new Connection({
      ...this.#options,
      session: this.#session,
      onSession: (session) => {
        this.#session = session;
      },
      onFree: () => this.#onFree(connection),
      onGone: () => this.#onGone(connection),
    });
    this.#connections.add(connection);
    connection.carry(task);
  }

  #onFree(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next !== undefined) connection.carry(next);
    else if (this.#closing !== undefined || this.#options.budget?.wanted === true) connection.end();
    else {
      this.#idle.push(connection);
      this.#options.budget?.rest(connection);
      connection.rest();
    }
  }

  #onGone(connection: Connection): void {
    this.#connections.delete(connection);
    const idle = this.#idle.indexOf(connection);
    if (idle !== -1) this.#idle.splice(idle, 1);
    this.#options.budget?.release(connection);
    // Requests that wait for a connection from the budget are sent when it is granted.
    const next = this.#waiting.length > this.#asked ? this.#waiting.shift() : undefined;
    if (next !== undefined) this.#open(next);
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#connections.size === 0 && this.#waiting.length === 0) this.#closing?.resolve();
  }
}

const closed = () => Object.assign(new Error('the connections were closed'), { code: 'KIDP_CLOSED' });

/** The flow of a request that never got a connection. */
const nowhere: Flow = { paused: false, pause() {}, resume() {}, abort() {} };
