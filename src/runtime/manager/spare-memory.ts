/**
 * Returns memory to the system while the process is idle. After a burst, V8 keeps pages that are mostly empty. Freeing
 * them requires a compaction, which pauses the process for some tenths of a second and which V8 starts automatically only
 * if memory is short. This module starts it, but only if the process has been idle for a while and there is enough to
 * gain.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, systemClock } from '../clock.ts';
import { type Logger, silentLogger } from '../telemetry/logger.ts';

interface SpareMemoryOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  /** Replaces this process in tests. */
  readonly process?: IdleProcess;
}

/** The measurements and the compaction of a process. */
interface IdleProcess {
  /** User and system time so far. */
  cpuMilliseconds(): number;
  /** The size of the heap that V8 has allocated from the system. */
  heapBytes(): number;
  compact(): void;
}

const lookMilliseconds = 10_000;
/** The share of a core below which a process is idle; keeping connections to the API server and brokers takes less. */
const idleShare = 0.05;
const idleLooks = 2;
/** The growth since the last compaction that justifies another one. */
const worthBytes = 16 * 1024 * 1024;

/** `giveMemoryBack` starts the periodic check and returns a function that stops it. */
export function giveMemoryBack(options: SpareMemoryOptions = {}): () => void {
  const { clock = systemClock, log = silentLogger, process: idle = thisProcess() } = options;
  let looks = 0;
  let smallest = 0;
  let cpu = idle.cpuMilliseconds();
  let at = clock.monotonic();

  const look = () => {
    const [cpuBefore, before] = [cpu, at];
    cpu = idle.cpuMilliseconds();
    at = clock.monotonic();
    looks = cpu - cpuBefore < (at - before) * idleShare ? looks + 1 : 0;
    if (looks >= idleLooks && idle.heapBytes() - smallest >= worthBytes) compact();
    cancel = clock.schedule(lookMilliseconds, look);
  };
  const compact = () => {
    const heapBytes = idle.heapBytes();
    const began = clock.monotonic();
    idle.compact();
    smallest = idle.heapBytes();
    const milliseconds = Math.round(clock.monotonic() - began);
    log.debug('memory returned to the system', { heapBytes, heapBytesAfter: smallest, milliseconds });
    // The CPU time of the compaction does not count as work.
    cpu = idle.cpuMilliseconds();
    at = clock.monotonic();
  };
  let cancel = clock.schedule(lookMilliseconds, look);
  return () => cancel();
}

function thisProcess(): IdleProcess {
  // The flag affects only contexts that are created while it is set, so no other code gets access to `gc`.
  setFlagsFromString('--expose-gc');
  const collect: (options: object) => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return {
    cpuMilliseconds() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    heapBytes: () => getHeapStatistics().total_physical_size,
    compact: () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}
