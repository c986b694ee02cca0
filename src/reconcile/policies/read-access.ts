/**
 * The read access of policies: whether kidp may list and watch what each policy reads. A missing right is reported on the Policy and as a
 * metric, and looked for again, so that it is noticed without a restart when an administrator has granted it.
 */
import { Gauge, type Registry } from 'prom-client';
import { type ReadResource, resourcesReadBy } from '../../policy/internal.ts';
import type { Client, Clock, Logger, Runnable } from '../../runtime/index.ts';
import { isAllowed, sleep } from '../../runtime/internal.ts';
import type { PolicyView } from './view.ts';

interface ReadAccessOptions {
  readonly client: Client;
  readonly view: PolicyView;
  /** The names of all Policies. */
  readonly policies: () => readonly string[];
  /** Called with the policies whose access has changed, and whether something was granted that was missing. */
  readonly changed: (policies: readonly string[], granted: boolean) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry?: Registry | undefined;
  readonly periodMilliseconds?: number | undefined;
}

const defaultPeriod = 10_000;
/** While nothing is missing, this many periods pass between checks. */
const calmPeriods = 30;
const settleMilliseconds = 500;

export class ReadAccess implements Runnable {
  readonly name = 'read access of policies';
  readonly leaderOnly = true;
  readonly #options: ReadAccessOptions;
  readonly #gauge: Gauge | undefined;
  #missing = new Map<string, readonly ReadResource[]>();
  #wake = new AbortController();

  constructor(options: ReadAccessOptions) {
    this.#options = options;
    this.#gauge =
      options.registry &&
      new Gauge({
        name: 'kidp_policy_missing_read_permissions',
        help: 'Resources that a policy reads and kidp must not: they are not scanned, and params and context on them fail',
        labelNames: ['policy', 'resource'],
        registers: [options.registry],
      });
  }

  /** The resources that this policy reads and kidp must not; undefined if it was not checked yet. */
  missing(policy: string): readonly ReadResource[] | undefined {
    return this.#missing.get(policy);
  }

  /** Checks again, soon. */
  refresh(): void {
    this.#wake.abort();
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, log, view, periodMilliseconds = defaultPeriod } = this.#options;
    const end = view.subscribe(() => this.refresh());
    while (!signal.aborted) {
      try {
        await this.#check(signal);
      } catch (error) {
        if (!signal.aborted) log.warn('checking the read access of policies failed; retrying', { error });
      }
      const calm = [...this.#missing.values()].every((missing) => missing.length === 0);
      await sleep(clock, periodMilliseconds * (calm ? calmPeriods : 1), AbortSignal.any([signal, this.#wake.signal]));
      // Policies that are applied together are checked together.
      if (this.#wake.signal.aborted) await sleep(clock, settleMilliseconds, signal);
      this.#wake = new AbortController();
    }
    end();
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { client, view, policies, changed } = this.#options;
    const served = view.mapping.resources.filter(({ verbs }) => verbs.includes('list'));
    const answers = new Map<string, Promise<boolean>>();
    const mayRead = ({ group, plural, namespace }: ReadResource) => {
      const id = resourceText({ group, plural, ...(namespace === undefined ? {} : { namespace }) });
      const of = { group, resource: plural, ...(namespace === undefined ? {} : { namespace }) };
      const known =
        answers.get(id) ??
        Promise.all(['list', 'watch'].map((verb) => isAllowed(client, { verb, ...of }))).then((all) =>
          all.every((allowed) => allowed),
        );
      answers.set(id, known);
      return known;
    };
    const found = new Map<string, readonly ReadResource[]>();
    for (const name of policies()) {
      const model = view.state(name)?.model;
      if (model === undefined) continue;
      const missing = new Map<string, ReadResource>();
      for (const each of resourcesReadBy(model, served)) {
        if (!(await mayRead(each))) missing.set(resourceText(each), each);
        signal.throwIfAborted();
      }
      found.set(name, [...missing.values()]);
    }
    const before = this.#missing;
    this.#missing = found;
    this.#gauge?.reset();
    for (const [policy, missing] of found) {
      for (const each of missing) this.#gauge?.set({ policy, resource: resourceText(each) }, 1);
    }
    const text = (missing: readonly ReadResource[] | undefined) => missing?.map(resourceText).join();
    const different = [...found].filter(([name, missing]) => text(before.get(name)) !== text(missing));
    if (different.length === 0) return;
    const granted = different.some(([name, missing]) => missing.length < (before.get(name)?.length ?? 0));
    changed(
      different.map(([name]) => name),
      granted,
    );
  }
}

/** `resourceText` names a resource: `secrets`, `deployments.apps`, `configmaps in team-a`. */
export function resourceText({ group, plural, namespace }: ReadResource): string {
  const resource = group === '' ? plural : `${plural}.${group}`;
  return namespace === undefined ? resource : `${resource} in ${namespace}`;
}
