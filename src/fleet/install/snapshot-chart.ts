/**
 * A chart that wraps a snapshot: its only template prints the objects verbatim. So the Helm release equals the
 * snapshot, and a rollback renders nothing.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UnknownObject } from '../../runtime/index.ts';
import { isVersion } from '../charts/semver.ts';
import { type ApplyOptions, FleetError, type Snapshot } from '../contract.ts';

const group = 'platform.company.com';
export const digestAnnotation = `${group}/snapshot-digest`;
export const attemptAnnotation = `${group}/attempt`;
/** The part of the snapshot that the release contains; unset for all of it. */
export const variantAnnotation = `${group}/variant`;
export const runnerAnnotation = `${group}/runner`;
export const snapshotLabel = `${group}/snapshot`;

/** The file size limit of Helm. */
const mostBytes = 5 * 1024 * 1024;

export const variantOf = ({ only, atZero }: Pick<ApplyOptions, 'only' | 'atZero'>): string =>
  [only, atZero === true ? 'at-zero' : undefined].filter((each) => each !== undefined).join(',');

interface ChartContent {
  readonly snapshot: Snapshot;
  readonly manifests: readonly UnknownObject[];
  readonly attempt: string;
  readonly variant: string;
  readonly runner: string;
}

/** `writeSnapshotChart` returns the chart directory. */
export async function writeSnapshotChart(directory: string, content: ChartContent): Promise<string> {
  const { snapshot, manifests, attempt, variant, runner } = content;
  // JSON is unambiguous YAML, and has no line that starts with three dashes.
  const objects = manifests.map((object) => `---\n${JSON.stringify(object, null, 1)}\n`).join('');
  if (Buffer.byteLength(objects) > mostBytes) {
    throw new FleetError('snapshot/too-large', 'The rendered chart exceeds the size limit of Helm: split the chart');
  }
  const chart = {
    apiVersion: 'v2',
    name: snapshot.operator,
    // Helm requires a semantic version; an adopted release may have another.
    version: isVersion(snapshot.version) ? snapshot.version : '0.0.0',
    appVersion: snapshot.version,
    description: `Rendered by ${group} from ${snapshot.operator} ${snapshot.version}`,
    annotations: {
      [digestAnnotation]: snapshot.digest,
      [attemptAnnotation]: attempt,
      ...(variant === '' ? {} : { [variantAnnotation]: variant }),
      [runnerAnnotation]: runner,
    },
  };
  const folder = join(directory, 'chart');
  await mkdir(join(folder, 'templates'), { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'Chart.yaml'), JSON.stringify(chart), { mode: 0o600 });
  await writeFile(join(folder, 'snapshot.yaml'), objects, { mode: 0o600 });
  await writeFile(join(folder, 'templates', 'snapshot.yaml'), '{{ .Files.Get "snapshot.yaml" }}\n', { mode: 0o600 });
  return folder;
}
