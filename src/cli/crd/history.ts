/** `kidp crd history NAME` lists the stored revisions of a definition and the verdict on each change. */
import type { CrdRevision } from '../../api/index.ts';
import { unpackRevision } from '../../api/index.ts';
import { type Change, type ChangeClass, type Crd, compareCrds, readCrd } from '../../crd-compat/index.ts';
import { oneOf } from '../check/options.ts';
import { withClient } from '../common/client.ts';
import { InputError } from '../common/failure.ts';
import type { Streams } from '../common/streams.ts';
import type { ClusterOptions } from './options.ts';
import { tally } from './output/phrases.ts';
import { revisionsOf } from './revisions.ts';
import { clusterOf } from './side.ts';

export interface HistoryOptions extends ClusterOptions {
  output?: string;
}

interface Entry {
  readonly sequence: number;
  readonly recordedAt: string;
  readonly generation: number;
  readonly uid: string;
  readonly digest: string;
  readonly versions: readonly string[];
  /** The verdict against the previous revision; `created` for the first stored one and for a re-created CRD. */
  readonly verdict: ChangeClass | 'created' | 'unreadable';
  readonly changes: string;
  readonly removedAt?: string;
}

export async function history(name: string, options: HistoryOptions, streams: Streams): Promise<number> {
  const output = oneOf('--output', options.output ?? 'text', ['text', 'json', 'yaml'] as const);
  const revisions = await withClient(clusterOf(options), (client) => revisionsOf(client, name));
  if (revisions.length === 0) {
    throw new InputError(
      'nothing',
      `no revision of ${name} is stored: check that a CustomResourceDefinition has this name.`,
    );
  }
  const entries = entriesOf(revisions);
  if (output === 'json') streams.out.write(`${JSON.stringify(entries, null, 2)}\n`);
  else if (output === 'yaml')
    streams.out.write((await import('../common/yaml.ts')).safeYaml(entries, { lineWidth: 0 }));
  else streams.out.write(asText(name, entries));
  return 0;
}

function entriesOf(revisions: readonly CrdRevision[]): Entry[] {
  let before: { crd: Crd; uid: string } | undefined;
  return revisions.map((revision) => {
    const { sequence, recordedAt, digest, crd: identity } = revision.spec;
    const crd = definitionOf(revision);
    const entry = {
      sequence,
      recordedAt,
      generation: identity.generation,
      uid: identity.uid,
      digest,
      versions: crd === undefined ? [] : crd.spec.versions.map((version) => version.name),
      ...judgement(before, crd, identity.uid),
      ...(revision.status?.removedAt === undefined ? {} : { removedAt: revision.status.removedAt }),
    };
    if (crd !== undefined) before = { crd, uid: identity.uid };
    return entry;
  });
}

function judgement(
  before: { crd: Crd; uid: string } | undefined,
  crd: Crd | undefined,
  uid: string,
): Pick<Entry, 'verdict' | 'changes'> {
  if (crd === undefined) return { verdict: 'unreadable', changes: 'cannot be unpacked' };
  if (before === undefined) return { verdict: 'created', changes: 'first stored revision' };
  const { verdict, changes } = compareCrds(before.crd, crd, { witnesses: false });
  if (before.uid !== uid) return { verdict: 'created', changes: `deleted and re-created, ${tallied(changes)}` };
  return { verdict, changes: tallied(changes) };
}

const tallied = (changes: readonly Change[]): string => tally(changes);

function definitionOf(revision: CrdRevision): Crd | undefined {
  try {
    return readCrd(unpackRevision(revision)).crd;
  } catch {
    // A revision may be edited by hand; the others are still worth showing.
    return undefined;
  }
}

function asText(name: string, entries: readonly Entry[]): string {
  const rows = [
    ['REVISION', 'RECORDED', 'GENERATION', 'VERSIONS', 'VERDICT', 'CHANGES', 'DIGEST'],
    ...entries.map((entry) => [
      String(entry.sequence),
      entry.recordedAt,
      String(entry.generation),
      entry.versions.join(','),
      entry.verdict,
      entry.changes,
      entry.digest.slice(0, 'sha256:'.length + 12),
    ]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const removed = entries.at(-1)?.removedAt;
  const [before, newest] = entries.slice(-2);
  return `${[
    ...lines,
    ...(removed === undefined ? [] : [`The definition was removed at ${removed}.`]),
    // A single revision has no other to compare with.
    ...(before === undefined || newest === undefined
      ? []
      : [
          '',
          `To show the latest changes, run: kidp crd diff revision:${name}@${before.sequence} revision:${name}@${newest.sequence}`,
        ]),
  ].join('\n')}\n`;
}
