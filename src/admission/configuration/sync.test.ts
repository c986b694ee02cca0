import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../../runtime/index.ts';
import { type Sync, startSync } from './sync.ts';

describe('a synced state', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function start(apply: () => Promise<unknown>): Sync & { change(): void } {
    let change = () => {};
    const subscribe = (changed: () => void) => {
      change = changed;
      return () => {
        change = () => {};
      };
    };
    const kept = startSync({ apply, subscribe, log: silentLogger, retryMilliseconds: 1000 });
    return { ...kept, change: () => change() };
  }

  it('is applied once for all changes that come meanwhile', async () => {
    const turns: (() => void)[] = [];
    const kept = start(() => new Promise<void>((resolve) => turns.push(resolve)));
    for (let change = 0; change < 5; change += 1) kept.change();
    expect(turns).toHaveLength(1);
    turns[0]?.();
    await vi.waitFor(() => expect(turns).toHaveLength(2));
    turns[1]?.();
    await kept.stop();
    expect(turns).toHaveLength(2);
  });

  it('is tried again where it failed, without another change', async () => {
    const apply = vi.fn(async () => {});
    apply.mockRejectedValueOnce(new Error('away')).mockRejectedValueOnce(new Error('still away'));
    const kept = start(apply);
    kept.trigger();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(apply).toHaveBeenCalledTimes(3);
    await kept.stop();
  });

  it('is left alone once it has stopped', async () => {
    const apply = vi.fn(async () => {
      throw new Error('away');
    });
    const kept = start(apply);
    kept.change();
    await kept.stop();
    kept.change();
    kept.trigger();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(apply).toHaveBeenCalledTimes(1);
  });
});
