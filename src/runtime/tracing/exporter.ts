/**
 * Exports spans and metrics to a collector over HTTP, batch by batch. The platform never waits for it: the queue is bounded, and what
 * does not fit or cannot be delivered is dropped and counted.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { type Clock, sleep } from '../clock.ts';
import { ConfigError } from '../errors.ts';
import type { Logger } from '../telemetry/logger.ts';

export interface Destination {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMilliseconds: number;
}

export type Signal = 'traces' | 'metrics';

export interface ExportOutcomes {
  sent(signal: Signal, items: number): void;
  dropped(signal: Signal, items: number, why: 'queue-full' | 'refused' | 'unreachable'): void;
}

interface SenderOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly outcomes: ExportOutcomes;
  /** The PEM certificates that the collector is verified with. */
  readonly certificateAuthority?: string | undefined;
  /** The wait before the first retry. */
  readonly retryMilliseconds?: number | undefined;
}

/** The attempts per batch. The specification declares these statuses retryable. */
const mostTries = 5;
const temporary = new Set([429, 502, 503, 504]);
const longestWaitMilliseconds = 30_000;

export class OtlpSender {
  readonly #options: SenderOptions;
  readonly #agent: Agent;
  /** Aborted on stop: from then on there are no waits between retries. */
  readonly #stopping = new AbortController();
  #deadline: AbortSignal | undefined;
  #complained = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { certificateAuthority: ca } = options;
    this.#agent = new Agent({ connections: 1, ...(ca === undefined ? {} : { connect: { ca } }) });
  }

  /** Resolves to whether the collector accepted it. */
  async send(signal: Signal, to: Destination, body: unknown, items: number): Promise<boolean> {
    const { outcomes, clock, retryMilliseconds = 1_000 } = this.#options;
    const text = JSON.stringify(body);
    let why: 'refused' | 'unreachable' = 'unreachable';
    for (let tries = 1; tries <= mostTries; tries += 1) {
      const answer = await this.#post(to, text);
      if (answer.status >= 200 && answer.status < 300) {
        this.#complained = false;
        outcomes.sent(signal, items);
        return true;
      }
      why = answer.status === 0 ? 'unreachable' : 'refused';
      this.#complain(signal, to, answer);
      if (answer.status !== 0 && !temporary.has(answer.status)) break;
      if (tries === mostTries || this.#stopping.signal.aborted) break;
      const wait = answer.retryAfterMilliseconds ?? retryMilliseconds * 2 ** (tries - 1);
      await sleep(clock, Math.min(wait, longestWaitMilliseconds), this.#stopping.signal);
    }
    outcomes.dropped(signal, items, why);
    return false;
  }

  /** From now on each batch is tried once, and all of them together for at most this long. */
  hurry(milliseconds: number): void {
    this.#deadline = AbortSignal.timeout(milliseconds);
    this.#stopping.abort();
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #post(
    { url, headers, timeoutMilliseconds }: Destination,
    body: string,
  ): Promise<{ status: number; retryAfterMilliseconds?: number; failure?: string }> {
    const timeout = AbortSignal.timeout(timeoutMilliseconds);
    try {
      const answer = await request(url, {
        method: 'POST',
        dispatcher: this.#agent,
        headers: { 'content-type': 'application/json', 'user-agent': 'kidp', ...headers },
        body,
        signal: this.#deadline === undefined ? timeout : AbortSignal.any([timeout, this.#deadline]),
      });
      await answer.body.dump();
      const seconds = Number(answer.headers['retry-after']);
      return {
        status: answer.statusCode,
        ...(seconds > 0 ? { retryAfterMilliseconds: seconds * 1000 } : {}),
      };
    } catch (error) {
      const { code } = error as { code?: unknown };
      return { status: 0, failure: typeof code === 'string' ? code : (error as Error).name };
    }
  }

  /** Logs once until an export succeeds again, so that a collector that is down for a day does not fill the log. */
  #complain(signal: Signal, { url }: Destination, { status, failure }: { status: number; failure?: string }): void {
    if (this.#complained) return;
    this.#complained = true;
    const { origin, pathname } = new URL(url);
    const why = status === 0 ? failure : `HTTP ${status}`;
    this.#options.log.warn('telemetry export rejected', { signal, collector: origin + pathname, why });
  }
}

export function readAuthority(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError({
      code: 'otlp',
      message: `${file} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      hint: 'Give the certificates, in PEM form, that the collector is trusted by',
    });
  }
}
