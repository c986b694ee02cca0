/**
 * Model check of the rotation: real replicas share one store, and each of their calls is held until the test releases
 * it. fast-check chooses the order of the calls and the faults between them: crashed replicas, deleted or corrupted
 * stores, failed calls. After every call, a client that trusts the published bundle must be able to verify every
 * replica.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../testing/index.ts';
import { type Authority, startAuthority } from './authority.ts';
import type { Bundle, Publication } from './bundle.ts';
import { inspect, issuerIn, splitBundle } from './inspect.ts';
import { memoryStore } from './local-store.ts';
import type { CertificateStore } from './store.ts';

const settleMilliseconds = 1000;
/** The maximal age of a bundle that a consumer still uses; shorter than the time consumers are given to settle. */
const consumerLag = 900;
const resyncMilliseconds = 400;

interface Ticket {
  readonly replica: string;
  readonly pass: () => void;
  readonly fail: (error: Error) => void;
}

class World {
  readonly clock = new FakeClock();
  readonly store = memoryStore();
  readonly published: { at: number; bundle: Bundle }[] = [];
  readonly replicas = new Map<string, { authority?: Authority }>();
  tickets: Ticket[] = [];
  readonly #verified = new Map<string, boolean>();
  #started = 0;
  #inNeedUntil = 0;

  readonly #settleMilliseconds: number;

  constructor(milliseconds = settleMilliseconds) {
    this.#settleMilliseconds = milliseconds;
  }

  start(): void {
    this.#started += 1;
    const identity = `replica-${this.#started}`;
    const entry: { authority?: Authority } = {};
    this.replicas.set(identity, entry);
    void startAuthority({
      store: this.#gated(identity),
      identity,
      names: ['localhost'],
      publish: (bundle) => this.#publish(identity, bundle),
      authorityMilliseconds: 60_000,
      leafMilliseconds: 20_000,
      backdateMilliseconds: 60_000,
      settleMilliseconds: this.#settleMilliseconds,
      resyncMilliseconds,
      vanishMilliseconds: 3_600_000,
      clock: this.clock,
    }).then((authority) => {
      entry.authority = authority;
    });
  }

  crash(identity: string): void {
    this.replicas.delete(identity);
    this.tickets = this.tickets.filter((ticket) => ticket.replica !== identity);
    // The report of a crashed replica expires; here it does so immediately.
    void this.store.removeReport(identity);
  }

  async pass(ticket: Ticket, failure?: Error): Promise<void> {
    this.tickets = this.tickets.filter((other) => other !== ticket);
    if (failure === undefined) ticket.pass();
    else ticket.fail(failure);
    await settle();
    this.check();
  }

  async wait(milliseconds: number): Promise<void> {
    await this.clock.advance(milliseconds);
    this.check();
  }

  /** Runs all replicas until none has had anything to do for this time. */
  async calm(milliseconds: number): Promise<void> {
    const end = this.clock.monotonic() + milliseconds;
    while (this.clock.monotonic() < end) {
      for (let ticket = this.tickets[0]; ticket !== undefined; ticket = this.tickets[0]) await this.pass(ticket);
      await this.wait(resyncMilliseconds / 4);
    }
  }

  check(): void {
    if (this.#inNeed()) return;
    const oldest = this.clock.monotonic() - consumerLag;
    const acted = this.published.filter((_, index) => (this.published[index + 1]?.at ?? Infinity) > oldest);
    for (const [identity, { authority }] of this.replicas) {
      if (authority === undefined) continue;
      const { certificate } = authority.current();
      for (const { bundle } of acted) {
        if (this.#verifies(bundle, certificate)) continue;
        throw new Error(`${identity} shows a leaf that generation ${bundle.generation} of the bundle does not verify`);
      }
    }
  }

  /**
   * Repeated faults can prevent the renewal of a leaf until it expires. Replicas then switch at once, because a leaf
   * that is not trusted yet is no worse than an expired one, and consumers are given time to follow.
   */
  #inNeed(): boolean {
    const leaves = [...this.replicas.values()].map(({ authority }) => authority?.current().certificate);
    const expired = leaves.some((leaf) => leaf !== undefined && inspect(leaf).notAfter <= this.clock.now());
    if (expired) this.#inNeedUntil = this.clock.monotonic() + 3 * settleMilliseconds;
    return this.clock.monotonic() < this.#inNeedUntil;
  }

  #verifies(bundle: Bundle, certificate: string): boolean {
    const pair = `${certificate}${bundle.pem}`;
    const known = this.#verified.get(pair) ?? issuerIn(splitBundle(bundle.pem), certificate) !== undefined;
    this.#verified.set(pair, known);
    return known;
  }

  #gated(replica: string): CertificateStore {
    const { store } = this;
    const gate = <T>(call: () => Promise<T>): Promise<T> =>
      new Promise<void>((pass, fail) => this.tickets.push({ replica, pass, fail })).then(call);
    return {
      readMaterial: () => gate(() => store.readMaterial()),
      writeMaterial: (material, version) => gate(() => store.writeMaterial(material, version)),
      readKeys: () => gate(() => store.readKeys()),
      writeKeys: (keys, version) => gate(() => store.writeKeys(keys, version)),
      report: (identity, serves) => gate(() => store.report(identity, serves)),
      readReports: () => gate(() => store.readReports()),
      removeReport: (identity) => gate(() => store.removeReport(identity)),
    };
  }

  /** Behaves like a webhook configuration: the later of two generations is kept. */
  #publish(replica: string, bundle: Bundle): Promise<Publication> {
    return new Promise<void>((pass, fail) => this.tickets.push({ replica, pass, fail })).then(() => {
      const held = this.published.at(-1)?.bundle;
      if (held !== undefined && held.generation >= bundle.generation) {
        return { before: held, held };
      }
      this.published.push({ at: this.clock.monotonic(), bundle });
      return { before: held ?? bundle, held: bundle };
    });
  }
}

const serving = (world: World) => [...world.replicas.values()].filter(({ authority }) => authority !== undefined);

/** Faults between two calls. */
const faults: readonly ((world: World, choice: number) => Promise<void>)[] = [
  async (world) => void (await world.store.writeKeys([], (await world.store.readKeys()).version)),
  async (world, choice) => {
    const ticket = world.tickets[choice % Math.max(1, world.tickets.length)];
    if (ticket !== undefined) await world.pass(ticket, new Error('the API server is away'));
  },
  async (world, choice) => {
    // One replica must survive: if all replicas and the store are lost, nothing can be restored.
    const identities = [...world.replicas.keys()];
    const victim = identities[choice % identities.length] ?? '';
    const stay = serving(world).filter((entry) => entry !== world.replicas.get(victim));
    if (stay.length === 0) return;
    world.crash(victim);
    world.start();
  },
  async (world) => {
    const stored = await world.store.readMaterial();
    if (stored.value === undefined || serving(world).length === 0) return;
    // Corrupted: the key of the leaf is invalid.
    const garbled = { ...stored.value, leaf: { ...stored.value.leaf, key: 'garbage' } };
    await world.store.writeMaterial(garbled, stored.version);
  },
];

/**
 * Returns choices that are reproducible from a seed. Shrinking a list of choices would take minutes and its output
 * would fill pages.
 */
function chooser(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

async function play(world: World, seed: number, steps: number): Promise<void> {
  const choose = chooser(seed);
  for (let count = 2 + choose(2); count > 0; count--) world.start();
  await settle();
  for (let step = 0; step < steps; step++) {
    const what = choose(100);
    const ticket = world.tickets[choose(Math.max(1, world.tickets.length))];
    if (what < 2) await faults[choose(faults.length)]?.(world, choose(1000));
    else if (what < 85 && ticket !== undefined) await world.pass(ticket);
    else await world.wait(choose(300));
  }
}

describe('replicas that rotate together', () => {
  it('can be verified with the published bundle after every call, in any order, through crashes and losses', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const world = new World();
        await play(world, seed, 400);
        // After the last fault, all replicas converge on one authority.
        await world.calm(12_000);
        const { value: material } = await world.store.readMaterial();
        expect(material?.bundle.length).toBe(1);
        for (const { authority } of world.replicas.values()) {
          expect(authority?.current().certificate).toBe(material?.leaf.certificate);
          expect(authority?.bundle().generation).toBe(world.published.at(-1)?.bundle.generation);
        }
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  it('fail the check if they switch as soon as the bundle is published', async () => {
    const hasty = async () => {
      for (let seed = 0; seed < 20; seed++) await play(new World(0), seed, 400);
    };
    await expect(hasty()).rejects.toThrow(/does not verify/);
  });
});
