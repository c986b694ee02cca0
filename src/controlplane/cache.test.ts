import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildFlags, cacheDirectory, cacheKey } from './cache.ts';
import { type Recipe, recipeFor, recipes } from './recipes.ts';

const recipe: Recipe = {
  asset: 'tiny',
  version: '1.2.3',
  package: '.',
  variables: {},
  output: 'tiny',
  programs: ['tiny'],
  gigabytes: 0,
};

describe('cacheDirectory', () => {
  const rows = [
    {
      reason: 'ours wins',
      environment: { KIDP_CACHE: '/k', XDG_CACHE_HOME: '/x', HOME: '/h' },
      platform: 'linux',
      is: '/k',
    },
    { reason: 'then XDG', environment: { XDG_CACHE_HOME: '/x', HOME: '/h' }, platform: 'darwin', is: '/x/kidp' },
    {
      reason: 'an empty variable is none',
      environment: { KIDP_CACHE: '', HOME: '/h' },
      platform: 'linux',
      is: '/h/.cache/kidp',
    },
    {
      reason: 'macOS has its own place',
      environment: { HOME: '/h' },
      platform: 'darwin',
      is: '/h/Library/Caches/kidp',
    },
  ] as const;
  it.each(rows)('$reason', ({ environment, platform, is }) => {
    expect(cacheDirectory(environment, platform)).toBe(is);
  });
});

describe('cacheKey', () => {
  let sources: string;
  beforeEach(() => {
    sources = mkdtempSync(join(tmpdir(), 'kidp-recipe-'));
    writeFileSync(join(sources, 'go.mod'), 'module x\n');
    writeFileSync(join(sources, 'main.go'), 'package main\n');
  });
  afterEach(() => rmSync(sources, { recursive: true }));

  it('names asset, version and platform', () => {
    expect(cacheKey(recipe, sources, 'linux', 'arm64')).toMatch(/^tiny-1\.2\.3-[0-9a-f]{12}-linux-arm64$/);
  });

  const changes: { reason: string; change: (recipe: Recipe) => Recipe; file?: [string, string]; same: boolean }[] = [
    { reason: 'nothing changed', change: (it) => it, same: true },
    { reason: 'another source', change: (it) => it, file: ['main.go', 'package main // more\n'], same: false },
    { reason: 'another module version', change: (it) => it, file: ['go.sum', 'x v1 h1:y\n'], same: false },
    { reason: 'a file that Go does not read', change: (it) => it, file: ['notes.md', 'x'], same: true },
    { reason: 'another -X', change: (it) => ({ ...it, variables: { 'a.b': 'c' } }), same: false },
    { reason: 'another link', change: (it) => ({ ...it, programs: ['tiny', 'alias'] }), same: false },
    {
      reason: 'more files copied',
      change: (it) => ({ ...it, copies: { module: 'm', files: ['*.yaml'], into: 'stages' } }),
      same: false,
    },
    { reason: 'another guess of its size', change: (it) => ({ ...it, gigabytes: 9 }), same: true },
  ];
  it.each(changes)('is the same only for the same build: $reason', ({ change, file, same }) => {
    const before = cacheKey(recipe, sources);
    if (file !== undefined) writeFileSync(join(sources, file[0]), file[1]);
    expect(cacheKey(change(recipe), sources) === before).toBe(same);
  });
});

describe('recipes', () => {
  it('finds the recipe of a program', () => {
    expect(recipeFor('kube-scheduler').asset).toBe('kubernetes');
    expect(recipeFor('kubectl')).toMatchObject({ asset: 'kubectl', sources: 'kubernetes' });
    expect(recipeFor('etcdutl').asset).toBe('etcd');
    expect(() => recipeFor('docker')).toThrow(/docker/);
  });

  it('stamps the version into Kubernetes, which refuses to serve without one', () => {
    expect(buildFlags(recipes.kubernetes).join(' ')).toContain('version.gitVersion=v1.36.3');
  });
});
