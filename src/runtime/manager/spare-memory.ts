/**
 * Gives memory back to the system while there is nothing to do. After a burst V8 keeps pages that are mostly empty: to free them it would have to
 * move together what lives on them, which stops the process for some tenths of a second, and which V8 does on its own only if memory is short.
 * So it is asked to, but only a process that has been idle for a while, and only where there is something to gain.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, systemClock } from '../clock.ts';
import { type Logger, silentLogger } from '../telemetry/logger.ts';

interface SpareMemoryOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  /** In place of this process, for tests. */
  readonly process?: IdleProcess;
}

/** What is looked at, and what is done. */
interface IdleProcess {
  /** User and system time so far. */
  cpuMilliseconds(): number;
  /** What V8 has of the system. */
  heapBytes(): number;
  compact(): void;
}

const lookMilliseconds = 10_000;
/** Of a core: what is done to stay in touch with the API server and brokers takes less. */
const idleShare = 0.05;
const idleLooks = 2;
/** What it must have grown by since it was last made small. */
const worthBytes = 16 * 1024 * 1024;

/** Returns what ends it. */
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
    // What it took is not taken for work.
    cpu = idle.cpuMilliseconds();
    at = clock.monotonic();
  };
  let cancel = clock.schedule(lookMilliseconds, look);
  return () => cancel();
}

function thisProcess(): IdleProcess {
  // Nobody else is given it: a flag that is set later is seen only by contexts that are made later.
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
