/**
 * The lanes: groups of tests that need more of a machine than others. `npm run e2e -- LANE` runs a lane whatever it takes, and fails if
 * something is missing. `npm test` runs a lane if the machine allows it, what it builds is in the cache or quickly built, and there is
 * time; otherwise it prints why not.
 */

import { engineFileSystems } from '../src/cli/up/engine-images.ts';
import { ensureAssets, missingForImages, missingForNodes, type Progress } from '../src/controlplane/index.ts';

export interface Lane {
  /** Also the name of its project in vitest.config.ts and of its folder in test/. */
  readonly name: string;
  /** What it shows. */
  readonly shows: string;
  /** What a machine with nothing cached downloads or builds first, and for how long with two cores. */
  readonly builds: string;
  /** How long its tests take on a quiet machine with everything cached. */
  readonly seconds: number;
  /** Whether `npm test` builds what is missing. */
  readonly builtByTests: boolean;
  /** What the machine lacks, one sentence each. */
  readonly missing: () => readonly string[];
  readonly isCached: () => Promise<boolean>;
  readonly prepare: (onProgress: (progress: Progress) => void) => Promise<unknown>;
}

export const lanes: readonly Lane[] = [
  {
    name: 'nodes',
    shows: 'real containers on two real nodes; our image there: admission, rollouts, and a broker in its own Pod',
    builds: 'kubelet, kube-proxy, CoreDNS and the pause image: 3 minutes; Node and libraries for the image: 20 s',
    seconds: 80,
    builtByTests: true,
    missing: missingForNodes,
    isCached: async () => true,
    prepare: (onProgress) =>
      ensureAssets(['kubernetes', 'etcd', 'kubelet', 'coredns', 'pause', 'helm'], { onProgress }),
  },
  {
    name: 'image',
    shows: 'the image of linux/amd64 and linux/arm64: equal digests, contents, SBOM, provenance, signatures',
    builds: 'Helm for both architectures: 4 minutes; Node and libraries: 40 s',
    seconds: 60,
    builtByTests: false,
    missing: missingForImages,
    isCached: () => isBuilt(() => ensureAssets(['helm'], { architecture: 'arm64', onlyCached: true })),
    prepare: async (onProgress) => {
      await ensureAssets(['helm'], { onProgress });
      await ensureAssets(['helm'], { onProgress, architecture: 'arm64' });
    },
  },
  {
    name: 'engines',
    shows:
      'PostgreSQL, MariaDB, Redis and Memcached of the kubernetes broker, with a client that uses the connection Secret',
    builds: 'root file systems of Debian packages: 1 minute, 250 MB',
    seconds: 120,
    builtByTests: false,
    missing: missingForNodes,
    isCached: () => isBuilt(() => engineFileSystems({ onlyCached: true })),
    prepare: async (onProgress) => {
      await ensureAssets(['kubernetes', 'etcd', 'kubelet', 'coredns', 'pause', 'helm'], { onProgress });
      await engineFileSystems({ onProgress });
    },
  },
];

const isBuilt = (ensure: () => Promise<unknown>): Promise<boolean> =>
  ensure().then(
    () => true,
    () => false,
  );

/** The seconds that `npm test` has for lanes. */
const budget = 100;

interface Choice {
  readonly chosen: readonly Lane[];
  /** Why the others are left out, one sentence each. */
  readonly left: readonly string[];
}

/** Chooses the lanes of `npm test`. */
export async function lanesOfTests(among: readonly Lane[] = lanes): Promise<Choice> {
  const chosen: Lane[] = [];
  const left: string[] = [];
  for (const lane of among) {
    const missing = lane.missing();
    const used = chosen.reduce((total, { seconds }) => total + seconds, 0);
    if (missing.length > 0) {
      left.push(`${lane.name} not run: ${missing.join('; ')}. On Debian, as root: sh scripts/system-packages.sh`);
    } else if (used + lane.seconds > budget) {
      left.push(`${lane.name} not run: it takes ${lane.seconds} s, and npm test has ${budget - used} s left for lanes`);
    } else if (!lane.builtByTests && !(await lane.isCached())) {
      left.push(`${lane.name} not run: not in the cache are ${lane.builds}`);
    } else {
      chosen.push(lane);
    }
  }
  return {
    chosen,
    left: left.map((sentence) => `lane ${sentence}. To run it: npm run e2e -- ${sentence.split(' ')[0]}`),
  };
}

/** Chooses the named lanes; without names, all. */
export function lanesNamed(names: readonly string[]): readonly Lane[] {
  const known = lanes.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new RangeError(`there is no lane ${unknown.join(', ')}, only ${known.join(', ')}`);
  return names.length === 0 ? lanes : lanes.filter(({ name }) => names.includes(name));
}
