/**
 * `npm run release -- --dry-run` makes every artefact of a release in out/: the package, executables, the krew manifest, CRDs, the chart
 * and install.yaml, the image, the SBOM, the notes and the checksums. Without --dry-run it also demands what a release needs: a section of the
 * changelog, and nothing that is not committed. Nothing is published here: .github/workflows/release.yaml does that.
 */
import { execFile } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ensureAssets } from '../../src/controlplane/index.ts';
import { root } from '../../test/conventions/tools.ts';
import { sbom } from '../sbom.ts';
import { archive, sha256 } from './archives.ts';
import { buildExecutable } from './executables.ts';
import { type KrewArchive, krewManifest } from './krew.ts';
import { releaseNotes } from './notes.ts';

const run = promisify(execFile);
const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    out: { type: 'string', default: join(root, 'out') },
    'without-image': { type: 'boolean', default: false },
    /** Where the archives will be downloaded from: a repository of GitHub. */
    repository: { type: 'string', default: process.env.GITHUB_REPOSITORY ?? 'your-organisation/kidp' },
  },
});
const { out } = values;
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
const say = (text: string) => process.stdout.write(`${text}\n`);

const notes = releaseNotes(
  await readFile(join(root, 'CHANGELOG.md'), 'utf8'),
  values['dry-run'] ? 'Unreleased' : version,
);
if (!values['dry-run']) await demandCommitted();
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const temporary = await mkdtemp(join(tmpdir(), 'kidp-release-'));
try {
  const packed = await makePackage();
  const archives = [
    await executableArchive('x64'),
    await executableArchive('arm64'),
    ...(await launcherArchive(packed)),
  ];
  const homepage = `https://github.com/${values.repository}`;
  await write('kidp-krew.yaml', krewManifest(version, homepage, archives));
  await write('crds.yaml', await allCrds());
  await makeChart();
  await write('sbom.cdx.json', await sbom());
  if (!values['without-image']) await makeImage();
  await write('notes.md', notes);
  const names = (await readdir(out)).sort();
  const sums = await Promise.all(names.map(async (name) => `${await sha256(join(out, name))}  ${name}\n`));
  await write('SHA256SUMS', sums.join(''));
} finally {
  await rm(temporary, { recursive: true, force: true });
}
say(values['dry-run'] ? 'Nothing was published (--dry-run).' : 'Publish them with .github/workflows/release.yaml.');

async function write(name: string, content: string): Promise<void> {
  await writeFile(join(out, name), content);
  say(join(out, name));
}

async function demandCommitted(): Promise<void> {
  const { stdout } = await run('git', ['status', '--porcelain'], { cwd: root });
  if (stdout !== '') throw new Error(`commit these changes first, or use --dry-run:\n${stdout}`);
}

/** Returns the folder with the unpacked package. */
async function makePackage(): Promise<string> {
  await run('npm', ['pack', '--pack-destination', out], { cwd: root });
  const tarball = join(out, `kidp-${version}.tgz`);
  await run('tar', ['--extract', '--file', tarball, '--directory', temporary]);
  say(tarball);
  return join(temporary, 'package');
}

async function executableArchive(architecture: 'x64' | 'arm64'): Promise<KrewArchive> {
  const folder = join(temporary, architecture);
  await mkdir(folder);
  await buildExecutable(architecture, join(folder, 'kubectl-kidp'));
  await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await copyFile(
    join(temporary, 'package', 'dist', 'THIRD-PARTY-LICENSES.txt'),
    join(folder, 'THIRD-PARTY-LICENSES.txt'),
  );
  const name = `kidp-${version}-linux-${architecture}.tar.gz`;
  const finished = await finish(folder, name);
  return {
    ...finished,
    os: 'linux',
    architecture: architecture === 'x64' ? 'amd64' : 'arm64',
    program: 'kubectl-kidp',
  };
}

/** For macOS: the bundle, and a launcher that looks for Node. */
async function launcherArchive(packed: string): Promise<KrewArchive[]> {
  const folder = join(temporary, 'launcher');
  await mkdir(folder);
  for (const each of ['bin', 'dist', 'package.json', 'LICENSE'])
    await cp(join(packed, each), join(folder, each), { recursive: true });
  await copyFile(join(import.meta.dirname, 'launcher.sh'), join(folder, 'kubectl-kidp'));
  await chmod(join(folder, 'kubectl-kidp'), 0o755);
  const finished = await finish(folder, `kidp-${version}-node.tar.gz`);
  return (['amd64', 'arm64'] as const).map((architecture) => ({
    ...finished,
    os: 'darwin',
    architecture,
    program: 'kubectl-kidp',
  }));
}

async function finish(folder: string, name: string): Promise<Pick<KrewArchive, 'uri' | 'sha256'>> {
  await archive(folder, join(out, name));
  say(join(out, name));
  const uri = `https://github.com/${values.repository}/releases/download/v${version}/${name}`;
  return { uri, sha256: await sha256(join(out, name)) };
}

async function allCrds(): Promise<string> {
  const names = (await readdir(join(root, 'crds'))).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(root, 'crds', name), 'utf8')));
  return texts
    .map((text) =>
      text.startsWith('---')
        ? text
        : `---
${text}`,
    )
    .join('');
}

/** The chart as a package, and the CRDs and an installation as one file for `kubectl apply`. */
async function makeChart(): Promise<void> {
  const { helm } = await ensureAssets(['helm']);
  await run(helm, ['package', join(root, 'charts', 'operators'), '--destination', out]);
  await node('scripts/manifests.ts', '--install', join(out, 'install.yaml'));
  say(join(out, 'install.yaml'));
}

async function makeImage(): Promise<void> {
  await node('scripts/image/main.ts', '--out', join(out, 'image'));
  await archive(join(out, 'image'), join(out, `kidp-${version}-image.tar.gz`));
  await rm(join(out, 'image'), { recursive: true });
  say(join(out, `kidp-${version}-image.tar.gz`));
}

async function node(...words: string[]): Promise<void> {
  await run(process.execPath, words, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
}
