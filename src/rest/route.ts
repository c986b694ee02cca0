/** What an endpoint is: one entry of a table, from which the server, the checks of input and the OpenAPI document follow. */
import type { Client, KubernetesObject, Logger, Tracer } from '../runtime/index.ts';
import type { Caller, Role } from './caller.ts';
import type { JsonSchema } from './schemas.ts';

export interface Call {
  readonly caller: Caller;
  /** As the caller: the API server and admission see who it is. */
  readonly client: Client;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** As the schema of the route says; the handler knows which. */
  readonly body: unknown;
  /** The span of the request: the parent of what is told with the tracer. */
  readonly traceparent: string;
  readonly tracer: Tracer;
  /** Aborted when the request has taken too long or the caller has gone. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** What was changed, for the audit. */
  touched(object: Pick<KubernetesObject, 'kind' | 'metadata'>): void;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With parameters in braces. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Any one of them; an empty list: whoever has a token. */
  readonly roles: readonly Role[];
  /** It wants no token at all. */
  readonly open?: true;
  readonly params?: Readonly<Record<string, JsonSchema>>;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly body?: { readonly schema: JsonSchema; readonly required: boolean };
  /** What it answers when all went well. */
  readonly answer: { readonly status: number; readonly description: string; readonly schema?: JsonSchema };
  /** Codes of problems beyond those that every route may answer with. */
  readonly problems?: readonly number[];
  /** Requests a minute from one user; left out, the general limit. */
  readonly perMinute?: number;
  /** The name of what it changes, for the audit; left out, it changes nothing. */
  readonly audit?: string;
  run(call: Call): Promise<Answer>;
}

export const everybody: readonly Role[] = ['Admin', 'Operator', 'Viewer', 'EnvironmentOwner'];
export const changers: readonly Role[] = ['Admin', 'Operator'];
export const admins: readonly Role[] = ['Admin'];
