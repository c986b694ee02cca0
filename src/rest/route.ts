/**
 * `Route` describes an endpoint. The server, the validation and the OpenAPI document are derived from the table of
 * routes.
 */
import type { Client, KubernetesObject, Logger, Tracer } from '../runtime/index.ts';
import type { Caller, Role } from './caller.ts';
import type { JsonSchema } from './schemas.ts';

export interface Call {
  readonly caller: Caller;
  /** Client that impersonates the caller, so that the API server and admission see the user. */
  readonly client: Client;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Valid against the schema of the route; the handler casts it. */
  readonly body: unknown;
  /** Trace context of the request, the parent of spans recorded with the tracer. */
  readonly traceparent: string;
  readonly tracer: Tracer;
  /** Aborted if the request times out or the caller disconnects. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Records the changed object for the audit log. */
  touched(object: Pick<KubernetesObject, 'kind' | 'metadata'>): void;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path with parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Any of these roles is sufficient; an empty list admits every valid token. */
  readonly roles: readonly Role[];
  /** The route requires no token. */
  readonly open?: true;
  readonly params?: Readonly<Record<string, JsonSchema>>;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly body?: { readonly schema: JsonSchema; readonly required: boolean };
  /** The response on success. */
  readonly answer: { readonly status: number; readonly description: string; readonly schema?: JsonSchema };
  /** Status codes of problems in addition to those of every route. */
  readonly problems?: readonly number[];
  /** Requests per minute and user. Default: the general limit. */
  readonly perMinute?: number;
  /** Audit name of the change; undefined if the route changes nothing. */
  readonly audit?: string;
  run(call: Call): Promise<Answer>;
}

export const everybody: readonly Role[] = ['Admin', 'Operator', 'Viewer', 'EnvironmentOwner'];
export const changers: readonly Role[] = ['Admin', 'Operator'];
export const admins: readonly Role[] = ['Admin'];
