import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { build } from '../../src/controlplane/build.ts';
import { ensureAssets, type Progress } from '../../src/controlplane/index.ts';
import { sharedCluster, startControlPlane } from '../support/cluster.ts';
import { tinyRecipe, writeTinyRecipe } from './support/tiny-recipe.ts';

let directory: string;
let sources: string;
let cache: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-assets-'));
  sources = join(directory, 'recipe');
  cache = join(directory, 'cache');
  writeTinyRecipe(sources);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('building a recipe', () => {
  it('links the program under all its names, with its files beside it, and only once', async () => {
    const first = await buildTiny();
    expect(execFileSync(join(first.folder, 'alias'), { encoding: 'utf8' })).toBe('alias v1.0.0');
    expect(readdirSync(first.folder).sort()).toEqual(['alias', 'tiny', 'tiny-stages']);
    expect(readdirSync(join(first.folder, 'tiny-stages'))).toEqual(['one.yaml']);
    expect(first.steps.at(-1)).toBe('done');
    const second = await buildTiny();
    expect(second).toEqual({ folder: first.folder, steps: [] });
    // Neither a lock nor a half-built folder stays.
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('is done by one of two processes that start at once; the other waits and uses it', async () => {
    const [one, other] = await Promise.all([runBuilder(), runBuilder()]);
    expect(one.folder).toBe(other.folder);
    expect(one.folder).toBeDefined();
    expect([one, other].filter(({ steps }) => steps.includes('link') || steps.includes('compile'))).toHaveLength(1);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('goes on after the builder was killed in the middle, and nothing half-built is ever taken for whole', async () => {
    const victim = await runBuilder('die');
    expect(victim).toEqual({ steps: expect.arrayContaining(['link']) });
    await expect.poll(() => readdirSync(cache).filter((name) => name.includes('.building-'))).toEqual([]);
    // Only the dead one's lock may be there.
    expect(readdirSync(cache).filter((name) => !name.endsWith('.lock'))).toEqual([]);
    const { folder } = await buildTiny();
    expect(execFileSync(join(folder, 'tiny'), { encoding: 'utf8' })).toBe('tiny v1.0.0');
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('does not heed flags, a workspace or a platform set on the machine', async () => {
    writeFileSync(join(directory, 'go.work'), 'go 1.26.0\nuse ./elsewhere\n');
    const environment = { ...process.env, GOFLAGS: '-mod=vendor -tags=nope', GOOS: 'plan9', GO111MODULE: 'off' };
    const { folder } = await buildTiny({ environment });
    expect(execFileSync(join(folder, 'tiny'), { encoding: 'utf8' })).toBe('tiny v1.0.0');
  });

  it('fails with Go’s words where the program does not compile, and leaves nothing', async () => {
    writeFileSync(join(sources, 'main.go'), 'package main\nfunc main() { undefined() }\n');
    await expect(buildTiny()).rejects.toMatchObject({
      code: 'assets/build-failed',
      message: expect.stringContaining('main.go:2'),
    });
    expect(readdirSync(cache)).toEqual([]);
  });

  it('fails before the work where the disk will not do', async () => {
    const environment = {
      ...process.env,
      GOCACHE: join(directory, 'go-cache'),
      GOMODCACHE: join(directory, 'go-modules'),
    };
    const huge = { ...tinyRecipe, gigabytes: 1e9 };
    const failure = build(huge, { sources, cache, environment, onProgress: () => undefined });
    await expect(failure).rejects.toMatchObject({
      code: 'assets/disk-full',
      message: expect.stringContaining('GB are free'),
    });
  });

  it('fails where the cache cannot be a directory', async () => {
    writeFileSync(join(directory, 'file'), '');
    const failure = buildTiny({ cache: join(directory, 'file', 'assets') });
    await expect(failure).rejects.toMatchObject({ code: 'assets/no-permission' });
  });
});

describe('ensureAssets', () => {
  it('takes ready-made programs and builds nothing for them', async () => {
    const provided = provide('etcd', 'kube-apiserver', 'kubectl');
    const environment = { KUBEBUILDER_ASSETS: provided, KIDP_CACHE: cache, PATH: '' };
    const found = await ensureAssets(['etcd', 'kube-apiserver', 'kubectl'], { environment });
    expect(found).toEqual({
      etcd: join(provided, 'etcd'),
      'kube-apiserver': join(provided, 'kube-apiserver'),
      kubectl: join(provided, 'kubectl'),
    });
    expect(existsSync(cache)).toBe(false);
  });

  it('builds what is not among the ready-made programs', async () => {
    const environment = { ...process.env, KUBEBUILDER_ASSETS: provide('kubectl') };
    const found = await ensureAssets(['kubectl', 'etcdctl'], { environment });
    expect(found.kubectl).toBe(join(environment.KUBEBUILDER_ASSETS, 'kubectl'));
    expect(execFileSync(found.etcdctl, ['version'], { encoding: 'utf8' })).toContain('etcdctl version: 3.6.16');
  });

  it('is enough for a control plane with two ready-made programs and no Go', async () => {
    const built = await ensureAssets(['etcd', 'kube-apiserver']);
    const provided = provide();
    for (const [name, file] of Object.entries(built)) symlinkSync(realpathSync(file), join(provided, name));
    const assets = { environment: { KUBEBUILDER_ASSETS: provided, KIDP_CACHE: cache, PATH: '' } };
    const plane = await startControlPlane({ assets });
    try {
      const { code } = await sharedCluster().kubectl(['get', 'namespace', 'default'], plane);
      expect(code).toBe(0);
      // Named where it is needed, not before.
      await expect(plane.etcd.compact()).rejects.toMatchObject({ code: 'assets/missing' });
    } finally {
      await plane.stop();
    }
    await expect(startControlPlane({ assets, nodes: 1 })).rejects.toMatchObject({ code: 'assets/missing' });
  });

  const failures = [
    {
      reason: 'there is no Go',
      go: undefined,
      provided: false,
      code: 'assets/no-go',
      says: /Go 1\.26.*KUBEBUILDER_ASSETS/,
    },
    { reason: 'Go is too old', go: 'go1.24.3', provided: false, code: 'assets/go-too-old', says: /1\.24\.3.*Go 1\.26/ },
    {
      reason: 'a ready-made program is missing',
      go: undefined,
      provided: true,
      code: 'assets/missing',
      says: /kwok.*kwok-stages/,
    },
  ];
  it.each(failures)('says what to do where $reason', async ({ go, provided, code, says }) => {
    const environment = {
      PATH: go === undefined ? join(directory, 'empty') : fakeGo(go),
      KIDP_CACHE: cache,
      ...(provided ? { KUBEBUILDER_ASSETS: provide('kwok') } : {}),
    };
    const error = await ensureAssets(['kwok'], { environment }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) });
  });

  it('says what to do where modules cannot be downloaded', async () => {
    const environment = {
      ...process.env,
      KUBEBUILDER_ASSETS: undefined,
      KIDP_CACHE: cache,
      GOMODCACHE: join(directory, 'go-modules'),
      // Nothing listens there.
      GOPROXY: 'http://127.0.0.1:1',
    };
    await expect(ensureAssets(['etcd'], { environment })).rejects.toMatchObject({ code: 'assets/no-network' });
  });
});

async function buildTiny(options: { environment?: NodeJS.ProcessEnv; cache?: string } = {}) {
  const steps: string[] = [];
  const onProgress = (progress: Progress) => steps.push(progress.step);
  const folder = await build(tinyRecipe, { sources, cache, environment: process.env, ...options, onProgress });
  return { folder, steps };
}

async function runBuilder(...ending: string[]): Promise<{ folder?: string; steps: string[] }> {
  const program = fileURLToPath(new URL('./support/builder.ts', import.meta.url));
  const child = spawn(process.execPath, [program, sources, cache, ...ending], { stdio: ['ignore', 'pipe', 'inherit'] });
  const result: { folder?: string; steps: string[] } = { steps: [] };
  for await (const line of createInterface({ input: child.stdout })) {
    const said: { folder?: string; step?: string } = JSON.parse(line);
    if (said.folder !== undefined) result.folder = said.folder;
    if (said.step !== undefined) result.steps.push(said.step);
  }
  return result;
}

/** A folder of programs that would do nothing; KWOK's stages are left out. */
function provide(...programs: string[]): string {
  const folder = join(directory, 'provided');
  mkdirSync(folder);
  for (const program of programs) writeFileSync(join(folder, program), '');
  return folder;
}

/** A Go that only knows its version: the machine has no old one. */
function fakeGo(version: string): string {
  const folder = join(directory, 'fake-go');
  mkdirSync(folder);
  writeFileSync(join(folder, 'go'), `#!/bin/sh\necho ${version}\n`);
  chmodSync(join(folder, 'go'), 0o755);
  return folder;
}
