/**
 * Reads the definitions of a Helm chart: those in `crds/` of the chart and its subcharts, which Helm installs unchanged, and those that
 * its templates render. Without helm only the former are known, and a note says so.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseYaml } from '../../runtime/internal.ts';
import type { Problem, SourceText } from '../documents/index.ts';
import { helmTemplate, rendered } from '../documents/sources.ts';
import { archivesInArchive, filesInArchive } from './archive.ts';
import { mentionsBelow } from './directory.ts';

export type TakeNote = (file: string, message: string) => void;

interface ChartOptions {
  /** The flags for helm: `--values FILE` and `--set KEY=VALUE`. */
  readonly flags: readonly string[];
  readonly problems: Problem[];
  readonly note: TakeNote;
  /** Whether the user has named this chart. A chart found in a directory is rendered only if it may contain definitions. */
  readonly isNamed: boolean;
}

export const isArchive = (path: string): boolean => /\.(?:tgz|tar\.gz)$/.test(path);

/** `chartTexts` returns the manifests of a chart: a directory with a Chart.yaml, or a packaged chart. */
export function chartTexts(chart: string, { flags, problems, note, isNamed }: ChartOptions): SourceText[] {
  let kept: KeptFile[];
  try {
    kept = isArchive(chart) ? keptInArchive(chart, chart) : keptIn(chart);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    problems.push({ code: 'chart', file: chart, message: `this chart cannot be read (${reason}): package it again.` });
    return [];
  }
  const texts = kept.map(({ text }) => text);
  const mayMake = isNamed || templatesMake(chart);
  if (!mayMake && !hasSubcharts(chart)) return texts;
  const made = helmTemplate(chart, flags);
  if (made === undefined) {
    note(
      chart,
      'helm is not on the PATH: only the definitions in crds/ are compared, not those rendered from templates.',
    );
    return texts;
  }
  const file = isArchive(chart) ? chart : join(chart, 'Chart.yaml');
  const own: Problem[] = [];
  const templates = rendered(made, file, { tool: 'helm', directory: chart }, own);
  if (templates.length > 0) return [...installed(kept, chart, flags).map(({ text }) => text), ...templates];
  if (mayMake) {
    problems.push(...own);
    return [];
  }
  note(
    chart,
    'helm cannot render this chart: only the definitions in crds/ are compared, including those of its subcharts.',
  );
  return texts;
}

/** `templatesMake` reports whether the templates may render a definition; a library chart is never rendered on its own. */
function templatesMake(chart: string): boolean {
  if (fieldsOf(chart).type === 'library') return false;
  const charts = join(chart, 'charts');
  return (
    mentionsBelow(join(chart, 'templates'), KIND) ||
    entriesOf(charts).some((name) => mentionsBelow(join(charts, name, 'templates'), KIND))
  );
}

const KIND = /kind:\s*["']?CustomResourceDefinition/;

const hasSubcharts = (chart: string): boolean =>
  fieldsOf(chart).type !== 'library' && entriesOf(join(chart, 'charts')).length > 0;

interface KeptFile {
  /** The path below the chart's name, as Helm prints it: `crds/widgets.yaml`, `charts/other/crds/x.yaml`. */
  readonly source: string;
  readonly text: SourceText;
}

/** `installed` drops the files of disabled subcharts, as reported by helm: they are not installed. */
function installed(kept: readonly KeptFile[], chart: string, flags: readonly string[]): readonly KeptFile[] {
  if (!kept.some(({ source }) => source.startsWith('charts/'))) return kept;
  const all = helmTemplate(chart, [...flags, '--include-crds']);
  if (all?.status !== 0) return kept;
  const named = new Set([...all.stdout.matchAll(/^# Source: [^/\n]+\/(.+)$/gm)].map(([, source]) => source));
  return kept.filter(({ source }) => named.has(source));
}

const MANIFEST = /\.(?:ya?ml|json)$/;

function keptIn(directory: string, prefix = ''): KeptFile[] {
  const own = filesBelow(join(directory, 'crds')).map((path) => ({
    source: `${prefix}crds/${path}`,
    text: {
      file: join(directory, 'crds', path),
      text: readFileSync(join(directory, 'crds', path), 'utf8'),
    },
  }));
  const subcharts = entriesOf(join(directory, 'charts')).flatMap((name) => {
    const path = join(directory, 'charts', name);
    if (isArchive(name)) return keptInArchive(path, path, `${prefix}charts/`);
    const isChart = statSync(join(path, 'Chart.yaml'), { throwIfNoEntry: false })?.isFile() === true;
    return isChart ? keptIn(path, `${prefix}charts/${chartName(path)}/`) : [];
  });
  return [...own, ...subcharts];
}

/**
 * `keptInArchive` reads the files in `crds/` of a packaged chart. `above` is its path in the parent charts; the first segment of every
 * path in an archive is the name of the chart.
 */
function keptInArchive(archive: string | Buffer, file: string, above?: string): KeptFile[] {
  const sourceOf = (path: string) => (above === undefined ? path.split('/').slice(1).join('/') : `${above}${path}`);
  const own = filesInArchive(archive, (path) => isKept(path)).map(({ path, text }) => ({
    source: sourceOf(path),
    text: { file: `${file}:${path}`, text },
  }));
  const packed = archivesInArchive(archive).flatMap(({ path, content }) =>
    keptInArchive(content, `${file}:${path}`, sourceOf(path).replace(/[^/]+$/, '')),
  );
  return [...own, ...packed];
}

/** `isKept` matches manifests in `crds/` of the chart itself or of a chart in its `charts/`. */
const isKept = (path: string): boolean => /^[^/]+\/(?:charts\/[^/]+\/)*crds\/.+$/.test(path) && MANIFEST.test(path);

const filesBelow = (directory: string): string[] =>
  entriesOf(directory)
    .flatMap((name) => {
      const isDirectory = statSync(join(directory, name)).isDirectory();
      return isDirectory ? filesBelow(join(directory, name)).map((path) => `${name}/${path}`) : [name];
    })
    .filter((path) => MANIFEST.test(path));

function entriesOf(directory: string): string[] {
  return statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(directory).sort() : [];
}

function chartName(directory: string): string {
  const { name } = fieldsOf(directory);
  return typeof name === 'string' ? name : basename(directory);
}

/** `fieldsOf` reads a Chart.yaml; an unreadable one is empty, because helm reports the error better. */
function fieldsOf(directory: string): { name?: unknown; type?: unknown } {
  try {
    return parseYaml(readFileSync(join(directory, 'Chart.yaml'), 'utf8')) ?? {};
  } catch {
    return {};
  }
}
