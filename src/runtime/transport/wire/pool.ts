/**
 * Connections to one server that are used again and again, one request at a time on each.
 *
 * Our own, because a client of the API server needs little of HTTP, and a general one is dear where it hurts: undici's parser is
 * WebAssembly that every process compiles and optimises again, in one that has just started, as a controller has when it lists, a
 * quarter of all the CPU that a list of 10,000 objects takes it.
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
  /** How many at most; more requests wait. */
  connections: number;
  connectMilliseconds: number;
  /** An idle connection is closed after so long. */
  idleMilliseconds: number;
  /** Shared with other pools. */
  budget?: ConnectionBudget | undefined;
}

export class Pool implements Dispatcher, HoldingDispatcher {
  readonly #options: PoolOptions;
  readonly #connections = new Set<Connection>();
  /** The one used last is used first, so that the others may end. */
  readonly #idle: Connection[] = [];
  #waiting: Task[] = [];
  /** Connections that the budget was asked for and has not granted yet. */
  #asked = 0;
  #closing: PromiseWithResolvers<void> | undefined;
  /** For the next connection, which then takes half the handshake. */
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
      // Meanwhile another connection was free for it.
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
    // Those that the budget was asked for come when it grants them.
    const next = this.#waiting.length > this.#asked ? this.#waiting.shift() : undefined;
    if (next !== undefined) this.#open(next);
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#connections.size === 0 && this.#waiting.length === 0) this.#closing?.resolve();
  }
}

const closed = () => Object.assign(new Error('the connections were closed'), { code: 'KIDP_CLOSED' });

/** Of a request that never came to a connection. */
const nowhere: Flow = { paused: false, pause() {}, resume() {}, abort() {} };
