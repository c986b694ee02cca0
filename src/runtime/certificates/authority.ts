/**
 * The certificate loop of one replica: it reads the store, publishes the bundle, switches to the stored leaf, reports
 * the authority that it serves, and performs the one step that `decideRotation` finds due. Replicas have no leader:
 * each may perform any step. A write is rejected if the stored version has changed since it was read, so one of several
 * racing replicas wins and the others read again.
 *
 * The order within a pass keeps every connection verifiable: report → read → publish → switch → report → write. A
 * replica has reported itself before it reads a leaf that it may serve, and never switches to an authority that is not
 * in the bundle of consumers yet.
 */
import { type Clock, sleep, systemClock } from '../clock.ts';
import { ConfigError } from '../errors.ts';
import { type Logger, silentLogger } from '../telemetry/logger.ts';
import type { Bundle, CertificateSource, PublishBundle } from './bundle.ts';
import { inspect, joinBundle } from './inspect.ts';
import type { KeyPair } from './issue.ts';
import { type CertificateLives, checkLives, defaultLives } from './lives.ts';
import { repair, type Served } from './repair.ts';
import { LivingReplicas } from './replicas.ts';
import { decideRotation, isValid, type MaterialFacts, nextDue, type RotationStep } from './rotation.ts';
import { performStep } from './steps.ts';
import type { CertificateStore, Material, Versioned } from './store.ts';
import { Trust } from './trust.ts';

export interface AuthorityOptions extends CertificateLives {
  store: CertificateStore;
  /** Must be unique among replicas and constant for the lifetime of the process. */
  identity: string;
  /** DNS names and IP addresses that clients connect to. */
  names: readonly string[];
  publish?: PublishBundle;
  clock?: Clock;
  log?: Logger;
  signal?: AbortSignal;
}

export interface Authority extends CertificateSource {
  /** Reads the store now instead of at the next interval. Rejects if the store is unavailable. */
  sync(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * `startAuthority` issues and rotates a serving certificate. It resolves when there is a certificate to serve, retries until then, and
 * rejects only if the signal is aborted.
 *
 * @example
 * import { memoryStore, serveHttps, startAuthority } from 'kidp/runtime';
 *
 * const certificates = await startAuthority({ store: memoryStore(), identity: 'example', names: ['localhost'] });
 * const server = await serveHttps({ certificates, answer: (_request, response) => response.end('hello') });
 * console.log(server.url);
 * await server.stop();
 * await certificates.stop();
 */
export async function startAuthority(options: AuthorityOptions): Promise<Authority> {
  const replica = new Replica(options);
  await replica.start();
  return replica;
}

/**
 * A pass that writes is followed by another. More than this in a row indicates a conflicting writer; the loop then
 * waits for the next interval.
 */
const passesInARow = 12;
const firstRetryMilliseconds = 250;
const longestRetryMilliseconds = 30_000;

class Replica implements Authority {
  readonly #options: AuthorityOptions & Required<CertificateLives>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #replicas: LivingReplicas;
  readonly #trust: Trust;
  #served: Served | undefined;
  #material: Material | undefined;
  #problem: string | undefined;
  #turn: Promise<void> = Promise.resolve();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: AuthorityOptions) {
    this.#options = { ...defaultLives, ...options };
    checkNames(options.names);
    checkLives(this.#options);
    this.#clock = options.clock ?? systemClock;
    this.#log = (options.log ?? silentLogger).with({ certificates: options.identity });
    this.#replicas = new LivingReplicas(this.#options.vanishMilliseconds, this.#clock);
    this.#trust = new Trust(this.#options.settleMilliseconds, this.#clock);
  }

  async start(): Promise<void> {
    const { signal } = this.#options;
    if (signal !== undefined) signal.addEventListener('abort', () => this.#stopping.abort(), { once: true });
    if (signal?.aborted) this.#stopping.abort();
    const firstLeaf = new Promise<void>((resolve) => {
      const unsubscribe = this.subscribe(() => {
        unsubscribe();
        resolve();
      });
    });
    this.#loop = this.#run();
    await Promise.race([firstLeaf, this.#loop]);
    if (this.#served === undefined) throw signal?.reason ?? new Error('Stopped before there was a certificate');
  }

  current(): KeyPair {
    if (this.#served === undefined) throw new Error('There is no certificate yet: await startAuthority first');
    return this.#served.leaf;
  }

  bundle(): Bundle {
    if (this.#material === undefined) throw new Error('There is no bundle yet: await startAuthority first');
    return { pem: joinBundle(this.#material.bundle), generation: this.#material.generation };
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Syncs never overlap: a sync that is requested during another one runs after it. */
  sync(): Promise<void> {
    const turn = this.#turn.then(() => this.#passes());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await this.#turn;
    // Other replicas need not wait for a replica that has stopped. If this fails, its report expires.
    await this.#options.store.removeReport(this.#options.identity).catch(() => {});
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let retry = firstRetryMilliseconds;
    while (!signal.aborted) {
      try {
        await this.sync();
        retry = firstRetryMilliseconds;
        await sleep(this.#clock, this.#untilNextTurn(), signal);
      } catch (error) {
        // The current certificate is served further: an unavailable store is no reason to stop.
        this.#log.warn('certificate update failed; retrying', { error, retryMilliseconds: retry });
        await sleep(this.#clock, retry * (0.5 + Math.random() / 2), signal);
        retry = Math.min(retry * 2, longestRetryMilliseconds);
      }
    }
  }

  /** The wait is at most one resync interval, so that a change of the wall clock is noticed. */
  #untilNextTurn(): number {
    const { resyncMilliseconds } = this.#options;
    if (this.#material === undefined) return resyncMilliseconds;
    const due = nextDue(factsOf(this.#material), this.#policy) - this.#clock.now();
    return due > 0 ? Math.min(due, resyncMilliseconds) : resyncMilliseconds;
  }

  async #passes(): Promise<void> {
    for (let pass = 0; pass < passesInARow && !this.#stopping.signal.aborted; pass++) {
      if ((await this.#pass()) === 'rest') return;
    }
  }

  async #pass(): Promise<'again' | 'rest'> {
    const { store, identity } = this.#options;
    await store.report(identity, this.#serves());
    const stored = await store.readMaterial();
    const keys = await store.readKeys();
    this.#noteProblem(stored.problem ?? keys.problem);

    const material = stored.value;
    const others = material === undefined || hasRetired(material) ? await this.#otherReplicas() : [];
    const repaired = this.#repaired(material, others);
    if (repaired !== undefined) {
      this.#log.info('restoring the served certificates to the store', { generation: repaired.generation });
      await store.writeMaterial(repaired, stored.version);
      return 'again';
    }
    if (material !== undefined) {
      await this.#publish(material);
      if (this.#adopt(material)) await store.report(identity, this.#serves());
    }
    return this.#perform(this.#decide(material, keys, others), stored, keys);
  }

  /**
   * Returns the authority that each other replica serves. It must be called after the material was read: then it
   * includes every replica that may serve a replaced leaf.
   */
  async #otherReplicas(): Promise<readonly (string | undefined)[]> {
    const { store, identity } = this.#options;
    const { living, vanished } = this.#replicas.observe(await store.readReports());
    for (const gone of vanished.filter((each) => each !== identity)) {
      this.#log.info('replica is gone; no longer waiting for it', { replica: gone });
      await store.removeReport(gone);
    }
    return living.filter((report) => report.identity !== identity).map(({ serves }) => serves);
  }

  #repaired(stored: Material | undefined, others: readonly (string | undefined)[]): Material | undefined {
    if (this.#served === undefined || this.#material === undefined || this.#serves() === undefined) return undefined;
    return repair({ stored, others, served: this.#served, remembered: this.#material, now: this.#clock.now() });
  }

  /** Returns the authority of the served leaf while that leaf is valid. */
  #serves(): string | undefined {
    const served = this.#served;
    if (served === undefined) return undefined;
    return isValid(inspect(served.leaf.certificate), this.#clock.now()) ? served.issuer : undefined;
  }

  async #publish(material: Material): Promise<void> {
    const { publish } = this.#options;
    const bundle = { pem: joinBundle(material.bundle), generation: material.generation };
    try {
      this.#trust.published(bundle, publish === undefined ? { before: bundle, held: bundle } : await publish(bundle));
    } catch (error) {
      this.#trust.unknown();
      this.#log.warn('publishing the CA bundle failed; rotation is paused', { error });
    }
  }

  /** Switches to the stored leaf if consumers can verify it. Returns whether it switched. */
  #adopt(material: Material): boolean {
    const before = this.#material;
    this.#material = material;
    const turns = this.#mayTurnTo(material);
    if (turns) {
      this.#served = { leaf: material.leaf, issuer: material.signing };
      const { fingerprint, notAfter } = inspect(material.leaf.certificate);
      this.#log.info('serving a new certificate', {
        fingerprint,
        authority: material.signing,
        until: new Date(notAfter),
      });
    }
    if (turns || (this.#served !== undefined && before?.generation !== material.generation)) {
      for (const listener of [...this.#listeners]) listener();
    }
    return turns;
  }

  #mayTurnTo({ leaf, signing }: Material): boolean {
    const served = this.#served;
    if (served === undefined) return true;
    if (served.leaf.certificate === leaf.certificate) return false;
    const now = this.#clock.now();
    if (this.#serves() === undefined) return true;
    if (!isValid(inspect(leaf.certificate), now)) return false;
    return served.issuer === signing || this.#trust.settled(signing);
  }

  #decide(
    material: Material | undefined,
    keys: Versioned<readonly KeyPair[]>,
    others: readonly (string | undefined)[],
  ): RotationStep {
    const { outpacedBy } = this.#trust;
    return decideRotation({
      now: this.#clock.now(),
      policy: this.#policy,
      ...(material === undefined ? {} : { material: factsOf(material) }),
      keys: new Set((keys.value ?? []).map(({ certificate }) => inspect(certificate).fingerprint)),
      settled: (fingerprint) => this.#trust.settled(fingerprint),
      replicas: [this.#serves(), ...others],
      ...(outpacedBy === undefined ? {} : { outpacedBy }),
    });
  }

  async #perform(
    step: RotationStep,
    stored: Versioned<Material>,
    keys: Versioned<readonly KeyPair[]>,
  ): Promise<'again' | 'rest'> {
    if (step.kind === 'wait') return 'rest';
    const { store, names, authorityMilliseconds, leafMilliseconds, backdateMilliseconds } = this.#options;
    this.#log.info('rotating certificates', { step: step.kind, reason: step.reason });
    await performStep(step, stored, keys, {
      store,
      names,
      now: this.#clock.now(),
      authorityMilliseconds,
      leafMilliseconds,
      backdateMilliseconds,
      generation: stored.value === undefined ? this.#clock.now() : stored.value.generation + 1,
    });
    // Either this replica or another one has written, so the store has changed.
    return 'again';
  }

  get #policy() {
    const { authorityMilliseconds, leafMilliseconds, names } = this.#options;
    return { authorityMilliseconds, leafMilliseconds, names };
  }

  #noteProblem(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#problem) {
      this.#log.warn('stored certificates are unusable; replacing them', { problem });
    }
    this.#problem = problem;
  }
}

function factsOf(material: Material): MaterialFacts {
  const { generation, signing, next } = material;
  const facts = { generation, signing, leaf: inspect(material.leaf.certificate), bundle: material.bundle.map(inspect) };
  return next === undefined ? facts : { ...facts, next };
}

const hasRetired = ({ bundle, signing, next }: Material): boolean =>
  bundle.map((pem) => inspect(pem).fingerprint).some((fingerprint) => fingerprint !== signing && fingerprint !== next);

function checkNames(names: readonly string[]): void {
  if (names.length === 0) {
    throw new ConfigError({
      code: 'certificate-names',
      message: 'No name to serve',
      hint: 'Give a DNS name or an IP address',
    });
  }
}
