/**
 * Looks at every object again after the policies, or what they read, have changed: at what waits for them at once, at all else bit by bit,
 * so that a policy that changes costs a share of one core for a moment and not all of it.
 */
import {
  type Clock,
  type Condition,
  getCondition,
  keyOf,
  type ObjectKey,
  type Runnable,
  sleep,
} from '../../runtime/index.ts';
import type { Deployable } from './deployable.ts';

export interface SweptKind {
  objects(): Iterable<Deployable>;
  enqueue(key: ObjectKey): void;
}

export interface SweepOptions {
  readonly changes: (listener: () => void) => () => void;
  readonly kinds: readonly SweptKind[];
  readonly clock: Clock;
}

const sliceSize = 100;
const pauseMilliseconds = 100;

export function sweepOnChange({ changes, kinds, clock }: SweepOptions): Runnable {
  return {
    name: 'deployable sweep',
    leaderOnly: true,
    async start(signal) {
      let pending = false;
      let wake = () => {};
      const end = changes(() => {
        pending = true;
        wake();
      });
      signal.addEventListener('abort', () => wake(), { once: true });
      while (!signal.aborted) {
        if (!pending) await new Promise<void>((resolve) => (wake = resolve));
        if (signal.aborted) break;
        pending = false;
        await sweep(kinds, clock, signal);
      }
      end();
    },
  };
}

async function sweep(kinds: readonly SweptKind[], clock: Clock, signal: AbortSignal): Promise<void> {
  const all = kinds.flatMap((kind) => [...kind.objects()].map((object) => ({ kind, object })));
  const [settled, waiting] = [
    all.filter(({ object }) => isSettled(object)),
    all.filter(({ object }) => !isSettled(object)),
  ];
  for (const { kind, object } of waiting) kind.enqueue(keyOf(object));
  for (let next = 0; next < settled.length && !signal.aborted; next += sliceSize) {
    for (const { kind, object } of settled.slice(next, next + sliceSize)) kind.enqueue(keyOf(object));
    await sleep(clock, pauseMilliseconds, signal);
  }
}

const isSettled = ({ status }: Deployable): boolean =>
  status?.phase === 'ready' &&
  getCondition(status.conditions as Condition[] | undefined, 'Admitted')?.status === 'True';
