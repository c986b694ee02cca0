/** `npm run release -- --dry-run`, and installations from nothing but what it makes. The image has tests of its own (test/image). */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../../test/conventions/tools.ts';
import { sha256 } from './archives.ts';
import { releaseNotes } from './notes.ts';

const { version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let folder: string;
let out: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-release-test-'));
  out = join(folder, 'out');
  const words = ['run', 'release', '--silent', '--', '--dry-run', '--without-image', '--out', out];
  execFileSync('npm', [...words, '--repository', 'example/kidp'], { cwd: root, stdio: 'pipe' });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (name: string): string => readFileSync(join(out, name), 'utf8');

/** Unpacks an archive into an empty folder. */
function unpacked(name: string): string {
  const place = mkdtempSync(join(folder, 'unpacked-'));
  execFileSync('tar', ['--extract', '--file', join(out, name), '--directory', place]);
  return place;
}

/** Runs a program where nothing is but what was installed. */
function run(program: string, words: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const env = { PATH: '/usr/bin:/bin', HOME: folder, ...more };
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: folder, encoding: 'utf8', env });
  return { status, stdout, stderr };
}

test('out/ has every artefact, with its checksum', async () => {
  const names = readdirSync(out).sort();
  expect(names).toEqual(
    [
      'SHA256SUMS',
      'crds.yaml',
      'install.yaml',
      `kidp-${version}-linux-arm64.tar.gz`,
      `kidp-${version}-linux-x64.tar.gz`,
      `kidp-${version}-node.tar.gz`,
      `kidp-${version}.tgz`,
      'kidp-krew.yaml',
      `kidp-operators-${version}.tgz`,
      'notes.md',
      'sbom.cdx.json',
    ].sort(),
  );
  const sums = Object.fromEntries(
    read('SHA256SUMS')
      .trim()
      .split('\n')
      .map((line) => line.split('  ').reverse()),
  );
  expect(Object.keys(sums)).toEqual(names.filter((name) => name !== 'SHA256SUMS'));
  for (const [name, sum] of Object.entries(sums)) expect(await sha256(join(out, name))).toBe(sum);
});

const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 9}
---
apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: replicas}
spec:
  selector: {resourceTypes: [apps/v1/Deployment]}
  rules:
  - {name: limit, expression: spec.replicas <= 5, message: Use at most five replicas.}
`;
const denied = /denied: Deployment shop\/web: replicas \(limit\): .*spec\.replicas is 9/;

describe('the executable for x64', () => {
  test('runs without Node and decides', () => {
    const program = join(unpacked(`kidp-${version}-linux-x64.tar.gz`), 'kubectl-kidp');
    expect(run(program, ['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
    writeFileSync(join(folder, 'manifest.yaml'), manifest);
    const { status, stdout } = run(program, ['check', '-f', 'manifest.yaml']);
    expect(stdout).toMatch(denied);
    expect(status).toBe(1);
  });

  test('says where servers run', () => {
    const program = join(unpacked(`kidp-${version}-linux-x64.tar.gz`), 'kubectl-kidp');
    const { status, stderr } = run(program, ['serve']);
    expect(stderr).toMatch(
      /^kidp: the package "[\w@/-]+" is not in the single executable: .* Use `npx kidp` or the image/,
    );
    expect(status).toBe(2);
  });
});

test('the executable for arm64 is one for that machine, with our program in it', () => {
  const program = join(unpacked(`kidp-${version}-linux-arm64.tar.gz`), 'kubectl-kidp');
  const bytes = readFileSync(program);
  // ELF, 64 bits, little endian; machine 183 is AArch64.
  expect([...bytes.subarray(0, 6)]).toEqual([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  expect(bytes.readUInt16LE(18)).toBe(183);
  // With `1` behind the fuse, Node looks for a program in itself.
  expect(bytes.includes('NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1')).toBe(true);
  expect(bytes.includes('Policy, admission and platform control for Kubernetes')).toBe(true);
});

describe('krew', () => {
  const platforms = () => parse(read('kidp-krew.yaml')).spec.platforms as Record<string, string>[];

  test('the manifest has the checksums of the archives, and their program', async () => {
    const { apiVersion, kind, metadata, spec } = parse(read('kidp-krew.yaml'));
    expect({ apiVersion, kind, metadata }).toEqual({
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'kidp' },
    });
    expect(spec.version).toBe(`v${version}`);
    expect(spec.shortDescription.length).toBeLessThanOrEqual(50);
    expect(platforms()).toHaveLength(4);
    for (const { uri = '', sha256: sum, bin = '' } of platforms()) {
      expect(uri).toMatch(
        new RegExp(
          `^https://github.com/example/kidp/releases/download/v${version}/kidp-${version}-[\\w-]+\\.tar\\.gz$`,
        ),
      );
      const name = uri.slice(uri.lastIndexOf('/') + 1);
      expect(await sha256(join(out, name))).toBe(sum);
      expect(existsSync(join(unpacked(name), bin))).toBe(true);
    }
  });

  test('the launcher of macOS works through the link that krew makes', () => {
    const place = unpacked(`kidp-${version}-node.tar.gz`);
    const links = join(folder, 'krew', 'bin');
    mkdirSync(links, { recursive: true });
    symlinkSync(join(place, 'kubectl-kidp'), join(links, 'kubectl-kidp'));
    const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`;
    expect(run(join(links, 'kubectl-kidp'), ['--version'], { PATH })).toMatchObject({
      status: 0,
      stdout: `${version}\n`,
    });
    const without = mkdtempSync(join(folder, 'no-node-'));
    for (const tool of ['readlink', 'dirname']) symlinkSync(`/usr/bin/${tool}`, join(without, tool));
    const { status, stderr } = spawnSync('/bin/sh', [join(links, 'kubectl-kidp')], {
      env: { PATH: without },
      encoding: 'utf8',
    });
    expect({ status, stderr }).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/install Node 22\.19 or newer/),
    });
  });
});

test('the package installs from out/ and runs', () => {
  const place = mkdtempSync(join(folder, 'project-'));
  writeFileSync(join(place, 'package.json'), '{"private": true}');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', join(out, `kidp-${version}.tgz`)], {
    cwd: place,
    stdio: 'pipe',
  });
  writeFileSync(join(place, 'manifest.yaml'), manifest);
  const words = [join(place, 'node_modules', '.bin', 'kidp'), 'check', '-f', join(place, 'manifest.yaml')];
  expect(run(process.execPath, words).stdout).toMatch(denied);
});

test('install.yaml has the CRDs and the objects of the chart, and each is a Kubernetes object', () => {
  const objects = parseAllDocuments(read('install.yaml')).map((each) => each.toJS());
  expect(objects.filter((each) => typeof each?.apiVersion !== 'string' || typeof each?.kind !== 'string')).toEqual([]);
  const kinds = objects.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'CustomResourceDefinition')).toHaveLength(
    readdirSync(join(root, 'crds')).length,
  );
  expect(kinds).toEqual(expect.arrayContaining(['Deployment', 'Service', 'ServiceAccount', 'ClusterRole']));
});

test('the SBOM names what is bundled', () => {
  const names = JSON.parse(read('sbom.cdx.json')).components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['commander', 'undici', 'yaml']));
});

test('the Node of the executables is the one of the work tree', () => {
  const pins = Object.keys(JSON.parse(readFileSync(join(import.meta.dirname, 'pins.json'), 'utf8')));
  for (const machine of ['x64', 'arm64']) expect(pins).toContain(`node-linux-${machine}@${devDependencies.node}`);
});

test.each([
  { reason: 'a release', wanted: '0.2.0', notes: 'Two.\n' },
  { reason: 'what is not released', wanted: 'Unreleased', notes: '### Added\n\n- Three.\n' },
])('notes: $reason', ({ wanted, notes }) => {
  const changelog =
    '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Three.\n\n## [0.2.0] - 2026-01-01\n\nTwo.\n\n## [0.1.0]\n\nOne.\n';
  expect(releaseNotes(changelog, wanted)).toBe(notes);
  expect(() => releaseNotes(changelog, '0.3.0')).toThrow('CHANGELOG.md has no entries below "## [0.3.0]"');
});
