/** What the façade is started with. */
import type { Registry } from 'prom-client';
import type { Crd, Verdict } from '../crd-compat/index.ts';
import type { Charts, SealingKeys } from '../fleet/index.ts';
import type { Client, Clock, Logger, Tracer, UnknownObject } from '../runtime/index.ts';
import type { ListenerLimits, ServingCertificate } from '../runtime/internal.ts';
import type { TokenRules } from './authenticate.ts';
import type { TokenKeys } from './keys.ts';

export interface AuthenticationOptions
  extends Pick<TokenRules, 'issuer' | 'audience' | 'userClaim' | 'userPrefix' | 'groupsClaim' | 'groupNames'> {
  readonly keys: TokenKeys;
}

export interface RestOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** 0 or nothing: any free port. */
  readonly port?: number | undefined;
  /** Without it, plain HTTP: only on this machine, or where `insecureHttp` says that somebody else encrypts. */
  readonly tls?: ServingCertificate | undefined;
  readonly insecureHttp?: boolean | undefined;
  readonly authentication: AuthenticationOptions;
  /** Of the management cluster, with the right to impersonate users and the groups of roles. */
  readonly client: Client;
  readonly systemNamespace: string;
  readonly charts: Pick<Charts, 'versions' | 'fetch' | 'render'>;
  readonly sealingKeys: SealingKeys;
  /** The definitions that come with versions of Operators, by `definitionsRef`. */
  readonly definitions: (reference: string) => Promise<readonly UnknownObject[]>;
  /** In a thread of its own, where it would hold up others. Left out, here. */
  readonly compare?: ((before: Crd, after: Crd, signal: AbortSignal) => Promise<Verdict>) | undefined;
  /** How many replicas there are now: each lets its share of the rate limits through. Left out, one. */
  readonly replicas?: (() => number) | undefined;
  /** Requests a minute from one user to what has no limit of its own. Default: 600. */
  readonly perMinute?: number | undefined;
  readonly registry?: Registry | undefined;
  /** Told of each definition that was validated. */
  readonly onValidated?: (() => void) | undefined;
  /** Left out, nothing is recorded; the trace of the caller goes on to the API server all the same. */
  readonly tracer?: Tracer | undefined;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<ListenerLimits> | undefined;
  /** How long one request may take. Default: 25 s. */
  readonly requestMilliseconds?: number | undefined;
  /** How long of that a chart repository may take to say which versions it has. Default: 10 s. */
  readonly repositoryMilliseconds?: number | undefined;
  /** How long it may take to see whether a chart renders with the values of a deployment: what takes longer is left to Planning. Default: 5 s. */
  readonly renderMilliseconds?: number | undefined;
}
