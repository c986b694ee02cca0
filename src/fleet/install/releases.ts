/**
 * The releases that Helm keeps on a cluster, read as Helm writes them: one Secret a revision, a gzipped JSON document in base64 within
 * the base64 of the Secret. Reading them here costs a request; a run of Helm for each look would cost a second and a hundred megabytes.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Client, eachObject, isConflict, isNotFound, type UnknownObject } from '../../runtime/index.ts';
import { coreSecrets as secrets } from '../../runtime/internal.ts';
import { objectsIn } from '../charts/manifests.ts';
import { FleetError } from '../contract.ts';

export interface ReleaseName {
  readonly name: string;
  readonly namespace: string;
}

/** One revision, as its labels tell it. */
interface Revision {
  readonly revision: number;
  /** `deployed`, `superseded`, `failed`, `pending-install` … */
  readonly status: string;
  readonly secret: UnknownObject;
}

/** What is in it. */
export interface Release extends Revision {
  readonly chart: {
    readonly name: string;
    readonly version: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  /** In milliseconds since 1970. */
  readonly changedAt: number;
  /** When somebody began to remove it, likewise. */
  readonly removedAt: number;
  readonly manifest: string;
  readonly hooks: readonly string[];
}

const mostUnpacked = 64 * 1024 * 1024;
const unzip = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip);
const zip = promisify<Buffer, Buffer>(gzip);

export const isPending = ({ status }: Pick<Revision, 'status'>): boolean => status.startsWith('pending-');

/** Helm begins with this word, and purges the release when all is done. What was cut off stays so, with some of its objects gone. */
export const isUninstalling = ({ status }: Pick<Revision, 'status'>): boolean =>
  status === 'uninstalling' || status === 'uninstalled';

/** The newest first. */
export async function revisionsOf(client: Client, { name, namespace }: ReleaseName): Promise<readonly Revision[]> {
  const revisions: Revision[] = [];
  await eachObject(client, secrets, { namespace, labelSelector: `owner=helm,name=${name}` }, (secret) => {
    const { version = '', status = '' } = secret.metadata.labels ?? {};
    if (/^[1-9]\d*$/.test(version)) revisions.push({ revision: Number(version), status, secret });
  });
  return revisions.sort((one, other) => other.revision - one.revision);
}

export async function readRelease(revision: Revision): Promise<Release> {
  const { chart, info, manifest = '', hooks = [] } = await contentOf(revision);
  const { name = '', version = '', annotations = {} } = chart?.metadata ?? {};
  return {
    ...revision,
    status: info?.status ?? revision.status,
    chart: { name, version, annotations },
    changedAt: Date.parse(info?.last_deployed ?? '') || 0,
    removedAt: Date.parse(info?.deleted ?? '') || 0,
    manifest,
    hooks: hooks.map(({ manifest: hook = '' }) => hook),
  };
}

/** Hooks come last, as `helm template` prints them. */
export async function objectsOf({ manifest, hooks }: Pick<Release, 'manifest' | 'hooks'>): Promise<UnknownObject[]> {
  return objectsIn([manifest, ...hooks].join('\n---\n'));
}

/** Who was at it is gone: the next run of Helm may go on. Says false where it has changed meanwhile. */
export async function markFailed(client: Client, revision: Revision): Promise<boolean> {
  const content = await contentOf(revision);
  const info = { ...content.info, status: 'failed', description: 'Interrupted; taken over by kidp' };
  const packed = await zip(Buffer.from(JSON.stringify({ ...content, info })));
  const data = { release: Buffer.from(packed.toString('base64')).toString('base64') };
  const { metadata } = revision.secret;
  try {
    await client.update(secrets, {
      ...revision.secret,
      metadata: { ...metadata, labels: { ...metadata.labels, status: 'failed' } },
      data,
    });
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}

interface Content {
  readonly chart?: { readonly metadata?: { name?: string; version?: string; annotations?: Record<string, string> } };
  readonly info?: { readonly status?: string; readonly last_deployed?: string; readonly deleted?: string };
  readonly manifest?: string;
  readonly hooks?: readonly { readonly manifest?: string }[];
}

async function contentOf({ secret, revision }: Revision): Promise<Content> {
  const { release = '' } = (secret.data ?? {}) as Readonly<Record<string, string>>;
  const bytes = Buffer.from(Buffer.from(release, 'base64').toString('latin1'), 'base64');
  try {
    const text = bytes[0] === 0x1f ? await unzip(bytes, { maxOutputLength: mostUnpacked }) : bytes;
    return JSON.parse(text.toString('utf8')) as Content;
  } catch {
    throw new FleetError(
      'helm/failed',
      `Revision ${revision} of the release cannot be read: it is not as Helm writes it`,
    );
  }
}
