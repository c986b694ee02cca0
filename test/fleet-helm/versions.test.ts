/**
 * Versions in the order of Helm: the table of docs/decisions/0027. Helm itself is the oracle, because it installs the charts that are chosen here.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ensureAssets } from '../../src/controlplane/assets.ts';
import { compareVersions, isVersion } from '../../src/fleet/index.ts';

/** The part of node-semver that could replace src/fleet/charts/semver.ts. It is imported without types. */
interface NodeSemver {
  valid(version: string): string | null;
  compare(one: string, other: string): number;
}
const nodeSemver = createRequire(import.meta.url)('semver') as NodeSemver;

const pairs = [
  { reason: 'pre-releases by number', older: '1.0.0-rc.2', newer: '1.0.0-rc.10', node: true },
  { reason: 'a leading v', older: '1.0.0', newer: 'v1.0.1', node: true },
  {
    reason: 'builds by microsecond',
    older: '1.4.0-20240131094512123456',
    newer: '1.4.0-20240131094512123457',
    node: false,
  },
  {
    reason: 'builds by nanosecond',
    older: '1.5.0-1712345678901234567',
    newer: '1.5.0-1712345678901234568',
    node: false,
  },
  { reason: 'majors above 2^53', older: '9007199254740992.0.0', newer: '9007199254740993.0.0', node: false },
];

let helmOrder: readonly string[] = [];

beforeAll(async () => {
  const { helm } = await ensureAssets(['helm']);
  const directory = mkdtempSync(join(tmpdir(), 'kidp-versions-'));
  const [config, index] = [join(directory, 'repositories.yaml'), join(directory, 'charts-index.yaml')];
  const entries = pairs
    .flatMap(({ older, newer }) => [older, newer])
    .map((version) => ({ apiVersion: 'v2', name: 'shop', version, urls: ['shop.tgz'] }));
  writeFileSync(config, JSON.stringify({ repositories: [{ name: 'charts', url: 'https://charts.example.com' }] }));
  writeFileSync(index, JSON.stringify({ apiVersion: 'v1', entries: { shop: entries } }));
  const repository = ['--repository-config', config, '--repository-cache', directory];
  const words = ['search', 'repo', 'charts/shop', '--versions', '--devel', '-o', 'json', ...repository];
  const found = execFileSync(helm, words, { encoding: 'utf8', env: { HOME: directory } });
  helmOrder = (JSON.parse(found) as { version: string }[]).map(({ version }) => version);
}, 300_000);

test.each(pairs)('$reason: $newer is newer than $older, for Helm and for us', ({ older, newer }) => {
  expect([older, newer].every(isVersion)).toBe(true);
  expect(compareVersions(older, newer)).toBe(-1);
  expect(helmOrder.indexOf(newer)).toBeGreaterThanOrEqual(0);
  expect(helmOrder.indexOf(newer)).toBeLessThan(helmOrder.indexOf(older));
});

test.each(pairs)('$reason: node-semver orders them like Helm: $node', ({ older, newer, node }) => {
  const isVersionToo = [older, newer].every((version) => nodeSemver.valid(version) !== null);
  expect(isVersionToo && nodeSemver.compare(older, newer) < 0).toBe(node);
});
