/** Where the code that we run comes from: licences, advisories and install scripts of dependencies, and pinned recipes of binaries. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sbom } from '../../scripts/sbom.ts';
import { root } from './tools.ts';

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
}

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
const manifest = JSON.parse(read('package.json')) as Record<
  'devDependencies' | 'peerDependencies',
  Record<string, string>
> & {
  allowScripts: Record<string, boolean>;
};
const packages = Object.entries(lock.packages).filter(([place]) => place !== '');
const nameOf = (place: string): string => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Licences that allow distribution under Apache-2.0 without further conditions on our code. */
const licences = ['MIT', 'MIT-0', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'PSF-2.0', 'Unlicense'];

interface Bom {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly name: string;
    readonly group?: string;
    readonly licenses?: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[];
  }[];
}

let bom: Bom;
beforeAll(async () => {
  bom = JSON.parse(await sbom());
});

describe('npm packages', () => {
  test('every package that we distribute has a licence of the list', () => {
    const others = bom.components
      .map(({ name, licenses = [] }) => ({
        name,
        ids: licenses.map((each) => each.license?.id ?? each.expression ?? ''),
      }))
      .filter(({ ids }) => ids.length === 0 || ids.some((id) => !licences.includes(id)))
      .map(({ name, ids }) => `${name}: ${ids.join(', ') || 'none'}`);
    expect(others).toEqual([]);
  });

  test('every package is pinned by its integrity', () => {
    const open = packages.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([place]) => place);
    expect(open).toEqual([]);
  });

  test('direct dependencies have exact versions', () => {
    const all = Object.entries(manifest.devDependencies);
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  test('a server needs the versions that it was tested with, or compatible ones', () => {
    const others = Object.entries(manifest.peerDependencies).filter(
      ([name, range]) => range !== `^${manifest.devDependencies[name]}`,
    );
    expect(others).toEqual([]);
  });

  test('only node and esbuild have install scripts', () => {
    const scripts = packages.filter(([, each]) => each.hasInstallScript === true).map(([place]) => nameOf(place));
    expect([...new Set(scripts)].sort()).toEqual(['esbuild', 'node']);
    expect(Object.keys(manifest.allowScripts).sort()).toEqual(['esbuild', 'node']);
  });

  test('no advisory of severity moderate or higher, where the registry answers', () => {
    const words = ['audit', '--audit', '--package-lock-only', '--json'];
    const { stdout } = spawnSync('npm', words, { cwd: root, encoding: 'utf8', timeout: 60_000 });
    const answer = parsed(stdout);
    if (answer.metadata === undefined) {
      process.stderr.write(
        `npm audit: not checked, the registry has no audit endpoint (${answer.message ?? 'no answer'})\n`,
      );
      return;
    }
    const distributed = new Set(
      bom.components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`)),
    );
    const found = Object.values(answer.vulnerabilities ?? {}).filter(
      ({ name, severity }) => distributed.has(name) && /^(moderate|high|critical)$/.test(severity),
    );
    expect(found).toEqual([]);
  });

  test('npm run sbom lists what is bundled and what servers need, and nothing else', () => {
    expect(bom.bomFormat).toBe('CycloneDX');
    const listed = bom.components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`));
    const wanted = [
      'commander',
      'yaml',
      'undici',
      '@kubernetes/client-node',
      ...Object.keys(manifest.peerDependencies),
    ];
    expect(wanted.filter((each) => !listed.includes(each))).toEqual([]);
    expect(listed.filter((name) => /^(vitest|typescript|esbuild|node|smtp-server)$/.test(name))).toEqual([]);
  });
});

describe('GitHub Actions', () => {
  const files = [
    'action.yml',
    ...readdirSync(join(root, '.github/workflows')).map((name) => `.github/workflows/${name}`),
  ];

  test.each(files)('%s uses actions by commit, with the version beside it', (file) => {
    const used = [...read(file).matchAll(/^\s*-?\s*uses:\s*(.*)$/gm)].map(([, each = '']) => each);
    expect(used.filter((each) => !/^(\.\/\S*|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/.test(each))).toEqual([]);
  });

  test.each(files.slice(1))('%s asks for no more rights than it names', (file) => {
    expect(read(file)).toMatch(/^permissions:\n {2}contents: read$/m);
  });
});

interface AuditAnswer {
  readonly message?: string;
  readonly metadata?: object;
  readonly vulnerabilities?: Record<string, { readonly name: string; readonly severity: string }>;
}

function parsed(text: string): AuditAnswer {
  try {
    return JSON.parse(text) as AuditAnswer;
  } catch {
    return {};
  }
}

describe('recipes of binaries', () => {
  const recipes = 'src/controlplane/recipes';
  const names = readdirSync(join(root, recipes));

  test.each(names)('%s is pinned and checked', (name) => {
    const files = readdirSync(join(root, recipes, name));
    if (files.includes('pom.xml')) {
      const lines = read(`${recipes}/${name}/jars.sha256`).trim().split('\n');
      expect(lines.filter((line) => !/^[0-9a-f]{64} {2}[\w.-]+\.jar$/.test(line))).toEqual([]);
      expect(read(`${recipes}/${name}/pom.xml`)).not.toMatch(/<version>[^<]*(LATEST|RELEASE|SNAPSHOT|[[(,])/);
      return;
    }
    const required = requirementsIn(read(`${recipes}/${name}/go.mod`));
    const sums = new Set(
      read(`${recipes}/${name}/go.sum`)
        .split('\n')
        .map((line) => line.split(' ').slice(0, 2).join(' ')),
    );
    // `pause` uses the standard library only.
    if (name !== 'pause') expect(required.length).toBeGreaterThan(0);
    // The checksum of go.mod is there for each module of the graph; that of the module for each one that is compiled.
    expect(required.filter((each) => !sums.has(`${each}/go.mod`))).toEqual([]);
  });

  test('Go may neither change go.sum nor leave the checksums out', () => {
    expect(read('src/controlplane/cache.ts')).toContain('-mod=readonly');
    const sources = readdirSync(join(root, 'src/controlplane'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && existsSync(join(root, 'src/controlplane', file)))
      .map((file) => read(`src/controlplane/${file}`));
    expect(sources.join('\n')).not.toMatch(/GONOSUMDB|GOFLAGS=-mod=mod|GONOSUMCHECK|GOINSECURE|GOSUMDB=off/);
  });
});

/** `module version` for each required module that is not replaced. */
function requirementsIn(text: string): string[] {
  const replaced = new Set([...text.matchAll(/^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>/gm)].map(([, name]) => name));
  return [...text.matchAll(/^\s*(?:require\s+)?([\w.-]+\.[\w./-]+)\s+(v\S+)(?:\s*\/\/.*)?$/gm)]
    .filter(([, name]) => !replaced.has(name))
    .map(([, name, version]) => `${name} ${version}`);
}
