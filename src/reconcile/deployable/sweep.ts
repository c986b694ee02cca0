/**
 * Re-evaluates every object after policies, or objects they read, have changed: waiting objects at once, the others in
 * slices, so that a policy change does not take a whole core.
 */
import { type Clock, type Condition, getCondition, keyOf, type ObjectKey, type Runnable } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';
import type { Deployable } from './deployable.ts';

interface SweptKind {
  objects(): Iterable<Deployable>;
  enqueue(key: ObjectKey): void;
}

interface SweepOptions {
  readonly changes: (listener: () => void) => () => void;
  readonly kinds: readonly SweptKind[];
  readonly clock: Clock;
}

const sliceSize = 100;
const pauseMilliseconds = 100;
/** Objects that policies read may change often: settled objects are re-evaluated no more often than this. */
const restMilliseconds = 5_000;

export function sweepOnChange({ changes, kinds, clock }: SweepOptions): Runnable {
  return {
    name: 'deployable sweep',
    leaderOnly: true,
    async start(signal) {
      let pending = false;
      let wake = () => {};
      const rouse = () => {
        pending = true;
        wake();
      };
      const end = changes(rouse);
      signal.addEventListener('abort', rouse, { once: true });
      let cancel = () => {};
      for (let restUntil = 0; !signal.aborted; ) {
        if (!pending) await new Promise<void>((resolve) => (wake = resolve));
        if (signal.aborted) break;
        pending = false;
        enqueue(select(kinds, (object) => !isSettled(object)));
        cancel();
        const rest = restUntil - clock.monotonic();
        if (rest > 0) {
          cancel = clock.schedule(rest, rouse);
          continue;
        }
        await enqueueSlowly(select(kinds, isSettled), clock, signal);
        restUntil = clock.monotonic() + restMilliseconds;
      }
      cancel();
      end();
    },
  };
}

type Swept = readonly { readonly kind: SweptKind; readonly object: Deployable }[];

const select = (kinds: readonly SweptKind[], wanted: (object: Deployable) => boolean): Swept =>
  kinds.flatMap((kind) => [...kind.objects()].filter(wanted).map((object) => ({ kind, object })));

function enqueue(all: Swept): void {
  for (const { kind, object } of all) kind.enqueue(keyOf(object));
}

async function enqueueSlowly(all: Swept, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let next = 0; next < all.length && !signal.aborted; next += sliceSize) {
    enqueue(all.slice(next, next + sliceSize));
    await sleep(clock, pauseMilliseconds, signal);
  }
}

const isSettled = ({ status }: Deployable): boolean =>
  status?.phase === 'ready' &&
  getCondition(status.conditions as Condition[] | undefined, 'Admitted')?.status === 'True';
