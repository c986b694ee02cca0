/** The options of the REST API server. */
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
  /** 0 or undefined selects a free port. */
  readonly port?: number | undefined;
  /**
   * Without a certificate the server uses plain HTTP, only on the loopback address or with `insecureHttp` behind a
   * proxy that terminates TLS.
   */
  readonly tls?: ServingCertificate | undefined;
  readonly insecureHttp?: boolean | undefined;
  readonly authentication: AuthenticationOptions;
  /** Client of the management cluster. It needs the right to impersonate users and the role groups. */
  readonly client: Client;
  readonly systemNamespace: string;
  readonly charts: Pick<Charts, 'versions' | 'fetch' | 'render'>;
  readonly sealingKeys: SealingKeys;
  /** Loads the CRDs of operator versions by `definitionsRef`. */
  readonly definitions: (reference: string) => Promise<readonly UnknownObject[]>;
  /** Compares in a separate thread, so that other requests are not blocked. Default: in this thread. */
  readonly compare?: ((before: Crd, after: Crd, signal: AbortSignal) => Promise<Verdict>) | undefined;
  /** Current number of replicas: each enforces its share of the rate limits. Default: 1. */
  readonly replicas?: (() => number) | undefined;
  /** Requests per minute and user for routes without a limit of their own. Default: 600. */
  readonly perMinute?: number | undefined;
  readonly registry?: Registry | undefined;
  /** Called after each validated CRD. */
  readonly onValidated?: (() => void) | undefined;
  /** Without a tracer no spans are recorded, but the caller's trace context is still propagated to the API server. */
  readonly tracer?: Tracer | undefined;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<ListenerLimits> | undefined;
  /** Timeout of one request. Default: 25 s. */
  readonly requestMilliseconds?: number | undefined;
  /** Timeout within that for listing the versions in a chart repository. Default: 10 s. */
  readonly repositoryMilliseconds?: number | undefined;
  /**
   * Timeout for rendering the chart with the values of a deployment; slower charts are checked in Planning. Default: 5
   * s.
   */
  readonly renderMilliseconds?: number | undefined;
}
