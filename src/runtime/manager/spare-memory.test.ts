import { getHeapStatistics } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { type LogFields, silentLogger } from '../telemetry/logger.ts';
import { FakeClock } from '../testing/index.ts';
import { giveMemoryBack } from './spare-memory.ts';

const megabytes = 1024 * 1024;

/** Returns a process whose memory and CPU time the test controls. */
function stage() {
  const clock = new FakeClock();
  const state = { cpu: 0, heap: 100 * megabytes, compacted: 0 };
  const end = giveMemoryBack({
    clock,
    process: {
      cpuMilliseconds: () => state.cpu,
      heapBytes: () => state.heap,
      compact() {
        state.compacted += 1;
        state.heap = 80 * megabytes;
      },
    },
  });
  /** Advances ten seconds, in which the process uses the given CPU time in milliseconds. */
  const pass = async (work: number) => {
    state.cpu += work;
    await clock.advance(10_000);
  };
  return { state, pass, end };
}

describe('giveMemoryBack', () => {
  const rows: { reason: string; work: number[]; compacted: number }[] = [
    { reason: 'idle for a while', work: [100, 100], compacted: 1 },
    { reason: 'idle only just now', work: [100], compacted: 0 },
    { reason: 'busy', work: [5000, 5000, 5000, 5000], compacted: 0 },
    { reason: 'work in between restarts the wait', work: [100, 900, 100], compacted: 0 },
    { reason: 'once, while nothing grows', work: [100, 100, 100, 100, 100], compacted: 1 },
  ];
  it.each(rows)('$reason: $compacted times', async ({ work, compacted }) => {
    const { state, pass } = stage();
    for (const each of work) await pass(each);
    expect(state.compacted).toBe(compacted);
  });

  it('compacts again only after memory has grown enough', async () => {
    const { state, pass } = stage();
    for (const work of [100, 100]) await pass(work);
    state.heap = 90 * megabytes;
    for (const work of [100, 100]) await pass(work);
    expect(state.compacted).toBe(1);
    state.heap = 100 * megabytes;
    await pass(100);
    expect(state.compacted).toBe(2);
  });

  it('stops on request', async () => {
    const { state, pass, end } = stage();
    end();
    for (const work of [100, 100, 100]) await pass(work);
    expect(state.compacted).toBe(0);
  });

  it('compacts the heap of this process without exposing gc', async () => {
    const { gc } = globalThis as { gc?: unknown };
    const clock = new FakeClock();
    let kept: unknown[] = [];
    for (let index = 0; index < 400_000; index += 1) kept.push({ index, text: `text ${index}` });
    // One object in a hundred stays, spread over as many pages as before.
    kept = kept.filter((_, index) => index % 100 === 0);
    const before = getHeapStatistics().total_physical_size;
    const said: LogFields[] = [];
    const log = { ...silentLogger, debug: (_: string, fields: LogFields = {}) => said.push(fields) };
    const end = giveMemoryBack({ clock, log });
    await clock.advance(20_000);
    end();
    expect(said).toHaveLength(1);
    expect(getHeapStatistics().total_physical_size).toBeLessThan(before);
    expect(kept).toHaveLength(4000);
    expect((globalThis as { gc?: unknown }).gc).toBe(gc);
  });
});
