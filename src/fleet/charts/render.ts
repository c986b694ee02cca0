/** Renders a chart with `helm template`: definitions separately, other objects in chart order. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UnknownObject } from '../../runtime/index.ts';
import { FleetError } from '../contract.ts';
import { type HelmBinary, redactSecrets, runHelm } from '../helm/index.ts';
import { withWorkspace } from '../scratch/index.ts';
import { type ChartFiles, unpack } from './archive.ts';
import { containChart } from './contain.ts';
import { ManifestError, objectsIn } from './manifests.ts';

type Values = Readonly<Record<string, unknown>>;

interface Rendered {
  readonly definitions: readonly UnknownObject[];
  readonly manifests: readonly UnknownObject[];
}

interface RenderInput {
  readonly bytes: Buffer;
  readonly releaseName: string;
  readonly namespace: string;
  /** Default: the version that Helm was built for. */
  readonly kubernetesVersion?: string;
  readonly values: readonly Values[];
  /** If rendering fails, only the location is reported. */
  readonly hasSecrets?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

const timeoutMilliseconds = 120_000;

/** `renderChart` rejects with `chart/invalid`, or with `chart/does-not-render`; the message names the template and no value. */
export async function renderChart(helm: HelmBinary, input: RenderInput): Promise<Rendered> {
  const chart = await containChart(input.bytes);
  return withWorkspace(async (directory) => {
    await writeFile(join(directory, 'chart.tgz'), chart, { mode: 0o600 });
    const files = await Promise.all(
      input.values.map(async (values, index) => {
        // JSON is unambiguous YAML.
        await writeFile(join(directory, `values-${index}.yaml`), JSON.stringify(values), { mode: 0o600 });
        return `values-${index}.yaml`;
      }),
    );
    const words = [
      'template',
      input.releaseName,
      'chart.tgz',
      '--namespace',
      input.namespace,
      '--include-crds',
      ...(input.kubernetesVersion === undefined ? [] : ['--kube-version', input.kubernetesVersion]),
      ...files.flatMap((file) => ['--values', file]),
    ];
    const { code, stdout, stderr } = await runHelm(helm, words, {
      directory,
      timeoutMilliseconds,
      signal: input.signal,
    });
    if (code !== 0) throw doesNotRender(await (input.hasSecrets === true ? whereNot : whyNot)(stderr, input));
    return split(await readObjects(stdout, input));
  });
}

async function readObjects(rendered: string, input: RenderInput): Promise<UnknownObject[]> {
  try {
    return await objectsIn(rendered);
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    if (input.hasSecrets === true) throw doesNotRender(await whereNot(error.source ?? '', input));
    throw doesNotRender(`${error.source ?? 'rendered output'}: ${error.message}`);
  }
}

export const isDefinition = ({ apiVersion, kind }: UnknownObject): boolean =>
  kind === 'CustomResourceDefinition' && apiVersion.startsWith('apiextensions.k8s.io/');

/** `split`: a definition that is both in `crds/` and in a template is taken from the template, as Helm does. */
export function split(objects: readonly UnknownObject[]): Rendered {
  const definitions = new Map<string, UnknownObject>();
  for (const object of objects) if (isDefinition(object)) definitions.set(object.metadata.name, withoutHooks(object));
  return {
    definitions: [...definitions.values()],
    manifests: objects
      .filter((object) => !isDefinition(object))
      .map((object) => (isNamespace(object) ? kept(object) : object)),
  };
}

const isNamespace = ({ apiVersion, kind }: UnknownObject): boolean => apiVersion === 'v1' && kind === 'Namespace';

/** Deleting a Namespace of a chart would delete every custom resource in it. */
const kept = (object: UnknownObject): UnknownObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, 'helm.sh/resource-policy': 'keep' },
  },
});

function withoutHooks(object: UnknownObject): UnknownObject {
  const { annotations, ...metadata } = object.metadata;
  const others = Object.entries(annotations ?? {}).filter(([name]) => !name.startsWith('helm.sh/'));
  return {
    ...object,
    metadata: { ...metadata, ...(others.length === 0 ? {} : { annotations: Object.fromEntries(others) }) },
  };
}

/** `valuesDigest` depends on the order of the values, as the result does. */
export const valuesDigest = (values: readonly Values[]): string =>
  `sha256:${createHash('sha256').update(JSON.stringify(values)).digest('hex')}`;

const doesNotRender = (why: string): FleetError =>
  new FleetError('chart/does-not-render', `The chart does not render: ${why}`);

const REFUSED = /^(.*execution error at \([^)]*\)):? ?(.*)$/s;

/**
 * Text written by the chart author may be shown; text computed from values must not. So the messages of `fail` and
 * `required` are shown only if they occur verbatim in the chart.
 */
async function whyNot(stderr: string, { bytes, values }: RenderInput): Promise<string> {
  const [, said = stderr] = /(?:^|\n)Error: ([\s\S]*)$/.exec(stderr) ?? [];
  const message = said.replace(/\n+Use --debug flag[\s\S]*$/, '').trim();
  const texts = textsOf(await unpack(bytes).catch(() => new Map()));
  const known = { words: keysOf(values), texts, secrets: leavesOf(values) };
  const [, place, words = ''] = REFUSED.exec(message) ?? [];
  if (place === undefined) return redactSecrets(message, known);
  const isOfTheChart = texts.some((text) => text.includes(words.trim()));
  return `${redactSecrets(place, known)}: ${isOfTheChart ? words.trim() : 'the chart rejects these values'}`;
}

/** A template can put any value into any message, so only the location is repeated, which is a file of the chart. */
async function whereNot(said: string, { bytes }: RenderInput): Promise<string> {
  // Helm prefixes the chart name, and an archive the name of its folder.
  const files = new Set([...(await unpack(bytes).catch(() => new Map())).keys()].map(withoutFolder));
  const places = [...said.matchAll(/[\w.-]+\/([\w./-]+)((?::\d{1,5}){0,2})/g)];
  const [, path, line = ''] = places.find(([, each = '']) => files.has(each)) ?? [];
  const where = path === undefined ? '' : ` at ${path}${line}`;
  return `it fails${where}; the reason is hidden because some values come from a Secret. Run helm template to see it`;
}

const withoutFolder = (path: string): string => path.slice(path.indexOf('/') + 1);

const textsOf = (files: ChartFiles): string[] =>
  [...files].filter(([, data]) => data.length < 1024 * 1024).map(([, data]) => data.toString('utf8'));

function keysOf(value: unknown, into = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const each of value) keysOf(each, into);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, each] of Object.entries(value)) keysOf(each, into.add(key));
  }
  return into;
}

/** The values as they are, and in forms that templates commonly produce. */
function leavesOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf);
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  const text = String(value);
  return [text, JSON.stringify(text).slice(1, -1), Buffer.from(text).toString('base64')];
}
