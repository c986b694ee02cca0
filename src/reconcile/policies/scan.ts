/**
 * The background scan evaluates existing objects against the current policies. It finds objects that were admitted
 * before a policy existed or while the webhook was unavailable.
 *
 * Only changed policies, or policies that depend on time, are evaluated again; all are on a fixed period. One page of
 * objects is held at a time, and the scan yields every few milliseconds, because the leader answers requests too.
 */
import {
  type CompiledPolicy,
  decide,
  type PolicySet,
  policySet,
  storedRequest,
  type World,
} from '../../policy/index.ts';
import { nextTransition, scheduleStateAt, storedTypes } from '../../policy/internal.ts';
import {
  ApiError,
  type Client,
  type Clock,
  eachObject,
  isGone,
  type Logger,
  systemClock,
  type UnknownObject,
} from '../../runtime/index.ts';
import { type ResourceMapping, type ServedResource, sleep } from '../../runtime/internal.ts';
import { Ledger } from './ledger.ts';
import { Meter } from './meter.ts';
import type { ScannedReports } from './reports.ts';
import { type PolicyView, policyId } from './view.ts';

export interface ScannerOptions {
  /** A read-only client. */
  readonly client: Client;
  readonly view: PolicyView;
  /** Policies that are only scanned here and enforced elsewhere: ValidatingAdmissionPolicies. */
  readonly native?: () => readonly CompiledPolicy[];
  readonly log: Logger;
  /** The period of full scans. */
  readonly periodMilliseconds?: number;
  /** Policies that change together are scanned together. */
  readonly settleMilliseconds?: number;
  readonly clock?: Clock;
  /** Called after each scan, with the namespaces that may have changed. */
  readonly scanned: (result: ScanResult) => Promise<void>;
}

export interface ScanResult {
  /** The names of our own policies that were scanned. */
  readonly policies: readonly string[];
  readonly reports: ScannedReports;
  readonly signal: AbortSignal;
}

export interface PolicyScan {
  readonly violations: number;
  readonly scannedObjects: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly p99Microseconds?: number;
}

const defaultScanPeriod = 15 * 60_000;
const sliceMilliseconds = 10;
const retryMilliseconds = 30_000;

export class Scanner {
  readonly name = 'policy scan';
  readonly leaderOnly = true;
  readonly #options: ScannerOptions;
  readonly #clock: Clock;
  readonly #ledger = new Ledger();
  readonly #meter = new Meter();
  /** The revision that each policy was scanned with, and the result. */
  readonly #done = new Map<string, { readonly revision: string; readonly scan: PolicyScan }>();
  /** Kinds that policies read and that have changed since the last scan. */
  readonly #changedKinds = new Set<string>();
  #types: { mapping?: ResourceMapping; of: WeakMap<CompiledPolicy, readonly ServedResource[]> } = { of: new WeakMap() };
  #wakeSleeper = () => {};
  #woken = false;
  #everything = true;

  constructor(options: ScannerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Scans everything again, soon. */
  rescan(): void {
    this.#everything = true;
    this.#wake();
  }

  /** Called when an input of the scan may have changed. */
  refresh(): void {
    this.#wake();
  }

  /** The result of the last complete scan. */
  result(name: string): PolicyScan | undefined {
    return this.#done.get(policyId({ kind: 'Policy', name }))?.scan;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { view, log, periodMilliseconds = defaultScanPeriod, settleMilliseconds = 1_000 } = this.#options;
    const ends = [
      view.subscribe(() => this.#wake()),
      view.followObjects((apiVersion, kind) => {
        this.#changedKinds.add(`${apiVersion}/${kind}`);
        this.#wake();
      }),
    ];
    let wait = 0;
    for (let due = 0; !signal.aborted; ) {
      await this.#sleep(wait, signal);
      await sleep(this.#clock, this.#woken ? settleMilliseconds : 0, signal);
      this.#woken = false;
      if (signal.aborted) break;
      if (this.#clock.monotonic() >= due) this.#everything = true;
      try {
        const whole = this.#everything;
        await this.#scan(signal);
        if (whole) due = this.#clock.monotonic() + periodMilliseconds;
        wait = Math.min(due - this.#clock.monotonic(), this.#untilNextMoment());
      } catch (error) {
        if (signal.aborted) break;
        log.warn('scan of existing objects failed; retrying', { error });
        this.#everything = true;
        wait = retryMilliseconds;
      }
    }
    for (const end of ends) end();
  }

  #policies(): { set: PolicySet; policies: readonly CompiledPolicy[] } {
    const { view, native = () => [] } = this.#options;
    const { set } = view.current();
    return { set, policies: [...set.policies, ...native()].filter(({ model }) => model.rules.length > 0) };
  }

  #untilNextMoment(): number {
    const { set, policies } = this.#policies();
    const next = nextTransition(set, policies, this.#clock.now());
    return next === undefined ? Number.POSITIVE_INFINITY : next - this.#clock.now() + 1;
  }

  async #scan(signal: AbortSignal): Promise<void> {
    const { view, log, scanned } = this.#options;
    const { set, policies } = this.#policies();
    const everything = this.#everything;
    const stirred = new Set(this.#changedKinds);
    this.#changedKinds.clear();
    this.#everything = false;
    const typesOf = this.#typesOf(view.mapping);
    const now = this.#clock.now();
    const revisionOf = (policy: CompiledPolicy) => revision(set, policy, typesOf(policy), now);
    const stale = policies.filter(
      (policy) =>
        everything ||
        this.#done.get(policyId(policy.model))?.revision !== revisionOf(policy) ||
        kindsReadBy(policy).some((kind) => stirred.has(kind)),
    );
    const plan = planOf(stale, typesOf);
    const touched = this.#forget(policies, stale, plan);
    const began = this.#clock.monotonic();
    const world = await view.worldFor(
      stale.map(({ model }) => model),
      signal,
    );
    let objects = 0;
    for (const { type, policies: concerned } of plan.values()) {
      const pass = await this.#pass(type, subsetOf(set, concerned), world, signal);
      if (pass === undefined) continue;
      objects += pass.objects;
      const ids = concerned.map(({ model }) => policyId(model));
      for (const namespace of this.#ledger.take(typeId(type), ids, pass.pass)) touched.add(namespace);
    }
    const milliseconds = Math.round(this.#clock.monotonic() - began);
    if (stale.length > 0) {
      log.info('existing objects scanned', { policies: stale.length, types: plan.size, objects, milliseconds });
    }
    const at = this.#clock.now();
    for (const policy of stale) {
      const id = policyId(policy.model);
      const { objects: scannedObjects, violating: violations } = this.#ledger.policy(id);
      const scan = { violations, scannedObjects, at, ...this.#meter.read(id) };
      this.#done.set(id, { revision: revisionOf(policy), scan });
    }
    await scanned({
      policies: stale.filter(({ model }) => model.kind === 'Policy').map(({ model }) => model.name),
      reports: {
        touched,
        all: () => this.#ledger.namespaces(),
        of: (namespace) => this.#ledger.namespace(namespace),
      },
      signal,
    });
  }

  /**
   * Evaluates all objects of a type, page by page; undefined if they cannot be read, and then earlier results are kept.
   */
  async #pass(type: ServedResource, set: PolicySet, world: World, signal: AbortSignal) {
    const { client, log } = this.#options;
    for (let tries = 1; ; tries += 1) {
      const pass = this.#ledger.pass();
      const waiting: UnknownObject[] = [];
      const judge = async () => {
        let until = performance.now() + sliceMilliseconds;
        for (const object of waiting.splice(0)) {
          const request = storedRequest(object, type);
          pass.count(object, decide(set, request, world, { passes: true }).results);
          this.#meter.offer(set, request, world);
          if (performance.now() < until) continue;
          await new Promise((resolve) => setImmediate(resolve));
          signal.throwIfAborted();
          until = performance.now() + sliceMilliseconds;
        }
      };
      try {
        const options = { omitManagedFields: true, signal, timeoutMilliseconds: 60_000, betweenPages: judge };
        const { objects } = await eachObject(client, type, options, (object) => void waiting.push(object));
        await judge();
        return { pass, objects };
      } catch (error) {
        signal.throwIfAborted();
        // The list outlived the history of the server, so it starts again.
        if (isGone(error) && tries < 3) continue;
        const resource = `${type.plural}.${type.group}`;
        // The condition ReadAccess and a metric report it, and the next scan would log it again.
        if (error instanceof ApiError && error.status === 403) log.debug('no read access: not scanned', { resource });
        else log.warn('scanning a resource failed', { resource, error });
        return undefined;
      }
    }
  }

  /** Drops results that no policy matches any more. */
  #forget(
    policies: readonly CompiledPolicy[],
    stale: readonly CompiledPolicy[],
    plan: ReadonlyMap<string, { policies: readonly CompiledPolicy[] }>,
  ): Set<string> {
    const present = new Set(policies.map(({ model }) => policyId(model)));
    const again = new Set(stale.map(({ model }) => policyId(model)));
    for (const id of this.#done.keys()) if (!present.has(id)) this.#done.delete(id);
    this.#meter.keepOnly(present);
    return this.#ledger.keepOnly((policy, type) => {
      if (!present.has(policy)) return false;
      const planned = plan.get(type)?.policies.some(({ model }) => policyId(model) === policy);
      return !again.has(policy) || planned === true;
    });
  }

  /** Cached while the cluster serves the same kinds. */
  #typesOf(mapping: ResourceMapping): TypesOf {
    if (this.#types.mapping !== mapping) this.#types = { mapping, of: new WeakMap() };
    const { of } = this.#types;
    const listed = mapping.resources.filter(({ verbs }) => verbs.includes('list'));
    return (policy) => {
      const known = of.get(policy) ?? storedTypes(policy.model, listed);
      of.set(policy, known);
      return known;
    };
  }

  #wake(): void {
    this.#woken = true;
    this.#wakeSleeper();
  }

  async #sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (this.#woken || milliseconds <= 0) return;
    const woken = new AbortController();
    this.#wakeSleeper = () => woken.abort();
    await sleep(this.#clock, milliseconds, AbortSignal.any([signal, woken.signal]));
    this.#wakeSleeper = () => {};
  }
}

type TypesOf = (policy: CompiledPolicy) => readonly ServedResource[];

/** `planOf` maps each type to the policies that match it. */
function planOf(policies: readonly CompiledPolicy[], typesOf: TypesOf) {
  const plan = new Map<string, { type: ServedResource; policies: CompiledPolicy[] }>();
  for (const policy of policies) {
    for (const type of typesOf(policy)) {
      const known = plan.get(typeId(type));
      if (known === undefined) plan.set(typeId(type), { type, policies: [policy] });
      else known.policies.push(policy);
    }
  }
  return plan;
}

/** A subset of the policies, with all honoured exceptions. */
function subsetOf(set: PolicySet, policies: readonly CompiledPolicy[]): PolicySet {
  const { exceptions, platformNamespace, excludedNamespaces } = set;
  const honoured = [...new Set([...exceptions.values()].flat())];
  const exceptionNamespaces = honoured.map(({ model }) => model.namespace);
  return policySet({ policies, exceptions: honoured, platformNamespace, excludedNamespaces, exceptionNamespaces });
}

const typeId = ({ group, version, plural }: ServedResource): string => `${group}/${version}/${plural}`;

/** Changes with the policy, its exceptions, the types that it matches, and the validity of exceptions over time. */
function revision(set: PolicySet, policy: CompiledPolicy, types: readonly ServedResource[], now: number): string {
  const { model } = policy;
  const exempt = (set.exceptions.get(model.name) ?? []).map(
    (each) => `${each.model.namespace}/${each.model.name} ${each.model.revision}`,
  );
  return [model.revision, ...exempt, scheduleStateAt(set, policy, now), ...types.map(typeId)].join('\n');
}

const kindsReadBy = ({ model: { params, context } }: CompiledPolicy): string[] =>
  [...(params === undefined ? [] : [params]), ...context].map(({ apiVersion, kind }) => `${apiVersion}/${kind}`);
