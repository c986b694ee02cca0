/**
 * `npm run sbom` prints the software bill of materials of the package and of the image, as CycloneDX: the packages whose code is in the
 * bundle, and those that servers need beside it.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledPackages } from './package/build.ts';

interface Component {
  readonly 'bom-ref': string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Bom {
  readonly metadata: { readonly component: object };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** `sbom` returns the document. npm itself would list no package: all are development dependencies of the work tree. */
export async function sbom(): Promise<string> {
  const words = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
  const whole = JSON.parse(
    execFileSync('npm', words, {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as Bom;
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const bundled = (await bundledPackages()).map(referenceTo);
  const servers = Object.keys(peerDependencies).map((name) => referenceTo(`node_modules/${name}`));
  const kept = new Set([...bundled, ...reachedFrom(servers, whole)]);
  const bom = {
    ...whole,
    metadata: { ...whole.metadata, component: { ...whole.metadata.component, name: 'kidp' } },
    components: whole.components.filter((each) => kept.has(each['bom-ref'])).map(withoutDevelopment),
    dependencies: whole.dependencies
      .filter(({ ref }) => kept.has(ref) || !whole.components.some((each) => each['bom-ref'] === ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) })),
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

/** The reference of a package by its folder. */
function referenceTo(place: string): string {
  const { name, version } = JSON.parse(readFileSync(join(root, place, 'package.json'), 'utf8'));
  return `${name}@${version}`;
}

function reachedFrom(refs: readonly string[], { dependencies }: Bom): Set<string> {
  const needs = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set(refs);
  for (const ref of reached) for (const each of needs.get(ref) ?? []) reached.add(each);
  return reached;
}

function withoutDevelopment({ properties = [], ...component }: Component): Component {
  return { ...component, properties: properties.filter(({ name }) => name !== 'cdx:npm:package:development') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(await sbom());
