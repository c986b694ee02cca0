/** The cgroups of containers, which stay when their processes are gone. */
import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = '/sys/fs/cgroup';

/** The folder of every hierarchy; with cgroup v2 there is one. */
export function hierarchies(): string[] {
  const entries = readdirSync(root, { withFileTypes: true });
  if (entries.some(({ name }) => name === 'cgroup.controllers')) return [root];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(root, name));
}

/** Removes a cgroup and those below it. Their processes have been killed and may take moments to end. */
export async function removeGroups(cgroup: string): Promise<void> {
  const folders = hierarchies().map((hierarchy) => join(hierarchy, cgroup));
  for (let waited = 0; waited < 10_000; waited += 50) {
    if (!folders.some(existsSync)) return;
    for (const folder of folders) removeBelow(folder);
    await sleep(50);
  }
}

function removeBelow(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) removeBelow(join(folder, entry.name));
    }
    rmdirSync(folder);
  } catch {
    // It is gone, or still in use.
  }
}
