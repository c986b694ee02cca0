/**
 * The lowest layer of the image: the libraries that Node needs, CA certificates and a user, from Debian packages that `mmdebstrap`
 * verifies. There is no shell and no package manager.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { type ImageArchitecture, type Progress, rootFileSystem, type TarEntry } from '../../src/controlplane/index.ts';
import pins from './pins.json' with { type: 'json' };

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly source: string;
}

interface Base {
  readonly entries: readonly TarEntry[];
  readonly packages: readonly DebianPackage[];
}

const run = promisify(execFile);
const triplets = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' } as const;
/** The C library finds these by name; Node needs the others. */
const libraries = [
  'libc.so.6',
  'libdl.so.2',
  'libm.so.6',
  'libpthread.so.0',
  'libresolv.so.2',
  'librt.so.1',
  'libgcc_s.so.1',
];
const packageNames = Object.keys(pins.debian);
/** Where Debian documents the source package and its version; packages of one source share it. */
const documentation: Readonly<Record<string, string>> = {
  libc6: 'libc6/changelog.Debian.gz',
  'libgcc-s1': 'gcc-12-base/changelog.Debian.gz',
  'libstdc++6': 'gcc-12-base/changelog.Debian.gz',
  'ca-certificates': 'ca-certificates/changelog.gz',
};

export async function baseLayer(
  architecture: ImageArchitecture,
  onProgress: (progress: Progress) => void,
): Promise<Base> {
  const revision = createHash('sha256').update(JSON.stringify(pins.debian)).digest('hex').slice(0, 12);
  const file = await rootFileSystem({ packages: packageNames, architecture, revision, onProgress });
  const root = await mkdtemp(join(tmpdir(), 'kidp-image-base-'));
  try {
    await run(
      'tar',
      ['--extract', '--file', file, '--directory', root, './lib', './lib64', './usr'].filter(exists(architecture)),
    );
    const packages = await Promise.all(packageNames.map((name) => readPackage(root, name)));
    return { packages, entries: await entriesOf(root, architecture, packages) };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Only amd64 has its loader in /lib64. */
const exists = (architecture: ImageArchitecture) => (path: string) => architecture === 'amd64' || path !== './lib64';

async function readPackage(root: string, name: string): Promise<DebianPackage> {
  const changelog = gunzipSync(await readFile(join(root, 'usr/share/doc', documentation[name] ?? ''))).toString('utf8');
  const [, source = '', version = ''] = /^(\S+) \(([^)]+)\)/.exec(changelog) ?? [];
  return { name, version, source };
}

async function entriesOf(
  root: string,
  architecture: ImageArchitecture,
  packages: readonly DebianPackage[],
): Promise<TarEntry[]> {
  const triplet = triplets[architecture];
  const file = async (path: string, from = path, mode = 0o644): Promise<TarEntry> => ({
    path,
    content: await readFile(join(root, from)),
    mode,
  });
  const directory = (path: string, mode = 0o755): TarEntry => ({ path, directory: true, mode });
  const text = (path: string, content: string): TarEntry => ({ path, content });
  const loader = architecture === 'amd64' ? 'ld-linux-x86-64.so.2' : 'ld-linux-aarch64.so.1';
  const documented = [...new Set(Object.values(documentation).map((each) => each.split('/')[0] ?? ''))];
  return [
    ...['dev', 'etc', 'etc/ssl', 'etc/ssl/certs', 'home', 'home/nonroot', 'lib', `lib/${triplet}`].map((each) =>
      directory(each),
    ),
    ...(architecture === 'amd64' ? [directory('lib64')] : []),
    ...['proc', 'run', 'sys', 'usr', 'usr/lib', `usr/lib/${triplet}`, 'usr/local', 'usr/local/bin'].map((each) =>
      directory(each),
    ),
    ...['usr/share', 'usr/share/doc', ...documented.map((each) => `usr/share/doc/${each}`)].map((each) =>
      directory(each),
    ),
    ...['var', 'var/lib', 'var/lib/dpkg', 'var/lib/dpkg/status.d'].map((each) => directory(each)),
    directory('tmp', 0o1777),
    text('etc/passwd', passwd),
    text('etc/group', group),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
    text(
      'etc/os-release',
      'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n',
    ),
    text('etc/ssl/certs/ca-certificates.crt', await certificates(root)),
    await file(`lib/${triplet}/${loader}`, undefined, 0o755),
    architecture === 'amd64'
      ? { path: `lib64/${loader}`, link: `/lib/${triplet}/${loader}` }
      : { path: `lib/${loader}`, link: `${triplet}/${loader}` },
    ...(await Promise.all(libraries.map((name) => file(`lib/${triplet}/${name}`)))),
    await file(`usr/lib/${triplet}/libstdc++.so.6`),
    ...(await Promise.all(documented.map((name) => file(`usr/share/doc/${name}/copyright`)))),
    // Scanners read which packages the files are from here, because there is no package manager.
    ...packages.map(({ name, version, source }) =>
      text(
        `var/lib/dpkg/status.d/${name}`,
        `Package: ${name}\nStatus: install ok installed\nArchitecture: ${name === 'ca-certificates' ? 'all' : architecture}\nSource: ${source}\nVersion: ${version}\n`,
      ),
    ),
  ];
}

const passwd = `root:x:0:0:root:/root:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
`;
const group = 'root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n';

async function certificates(root: string): Promise<string> {
  const folder = join(root, 'usr/share/ca-certificates/mozilla');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.crt')).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.map((each) => `${each.trim()}\n`).join('');
}

/** Returns the packages that are no longer those of pins.json, one sentence each. */
export const unpinned = (packages: readonly DebianPackage[]): readonly string[] =>
  packages
    .filter(({ name, version }) => (pins.debian as Readonly<Record<string, string>>)[name] !== version)
    .map(({ name, version }) => `Debian has ${name} ${version}, and scripts/image/pins.json another version`);
