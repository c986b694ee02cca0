/**
 * `npm run bench -- libraries`: what the libraries would cost in place of the code that we keep by hand, or cost in place of a larger
 * one (docs/decisions/0025 and 0029). The peers are not dependencies: they are installed into a temporary directory from the npm
 * registry. Each figure is the median of five processes; our code is measured as it is shipped, compiled.
 */
import { execFileSync, fork } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figures } from './child.ts';

interface Variant {
  readonly name: string;
  /** The packages that npm installs for it. */
  readonly packages: readonly string[];
}

const variants: readonly Variant[] = [
  { name: 'otlp-ours', packages: [] },
  {
    name: 'otlp-sdk',
    packages: [
      '@opentelemetry/api@1.10.0',
      '@opentelemetry/sdk-trace@3.1.0',
      '@opentelemetry/sdk-metrics@3.1.1',
      '@opentelemetry/resources@3.1.1',
      '@opentelemetry/exporter-trace-otlp-http@0.301.0',
      '@opentelemetry/exporter-metrics-otlp-http@0.301.0',
    ],
  },
  { name: 'x509-asn1', packages: ['@peculiar/asn1-schema@2.11.1', '@peculiar/asn1-x509@2.11.1'] },
  { name: 'x509-peculiar', packages: ['@peculiar/x509@2.2.0', 'reflect-metadata@0.2.2'] },
];

const processes = 5;

export async function run(): Promise<boolean> {
  const root = join(import.meta.dirname, '..', '..');
  const place = mkdtempSync(join(tmpdir(), 'kidp-bench-libraries-'));
  try {
    const dist = join(place, 'ours');
    execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.build.json', '--outDir', dist], {
      cwd: root,
    });
    cpSync(join(root, 'package.json'), join(dist, 'package.json'));
    symlinkSync(join(root, 'node_modules'), join(dist, 'node_modules'));
    console.log('variant          load ms   load RSS MB   installed KB   µs per span, ms per leaf');
    for (const { name, packages } of variants) {
      const directory = join(place, name);
      const installed = packages.length === 0 ? 0 : install(directory, packages);
      const figures: Figures[] = [];
      for (let at = 0; at < processes; at += 1) figures.push(await measure(name, directory, dist));
      const column = (of: (each: Figures) => number, width: number, digits: number) =>
        median(figures.map(of)).toFixed(digits).padStart(width);
      const cells = [
        name.padEnd(16),
        column(({ loadMilliseconds }) => loadMilliseconds, 8, 0),
        column(({ loadBytes }) => loadBytes / 1e6, 13, 1),
        String(installed).padStart(14),
        column(({ perItem }) => perItem, 27, 1),
      ];
      console.log(cells.join(' '));
    }
    return true;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function install(directory: string, packages: readonly string[]): number {
  execFileSync('mkdir', ['-p', directory]);
  writeFileSync(join(directory, 'package.json'), '{"private":true}');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', ...packages], { cwd: directory });
  const text = execFileSync('du', ['-sk', 'node_modules'], { cwd: directory, encoding: 'utf8' });
  return Number.parseInt(text, 10);
}

function measure(variant: string, directory: string, dist: string): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, 'child.ts'), [variant, directory, dist], {
      execArgv: ['--expose-gc'],
    });
    let figures: Figures | undefined;
    child.on('message', (message) => {
      figures = message as Figures;
    });
    child.on('exit', (code) => {
      if (figures === undefined) reject(new Error(`${variant} exited with code ${code}`));
      else resolve(figures);
    });
  });
}

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
