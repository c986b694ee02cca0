/**
 * Preloaded into both contestants: at the end, writes what the process has taken to the file that KIDP_MEASURES names.
 */
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  const measures = { wallMilliseconds: performance.now(), cpuMilliseconds: (user + system) / 1000 };
  writeFileSync(process.env.KIDP_MEASURES ?? '', JSON.stringify(measures));
});
