/**
 * Reads Helm releases from a cluster: one Secret per revision, a gzipped JSON document in base64. Reading them here
 * costs one request; a Helm run would cost a second and 100 MB.
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

/** One revision, from its labels. */
interface Revision {
  readonly revision: number;
  /** `deployed`, `superseded`, `failed`, `pending-install` … */
  readonly status: string;
  readonly secret: UnknownObject;
}

/** The content of a revision. */
export interface Release extends Revision {
  readonly chart: {
    readonly name: string;
    readonly version: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  /** Unix milliseconds. */
  readonly changedAt: number;
  /** When its uninstall started, in Unix milliseconds. */
  readonly removedAt: number;
  readonly manifest: string;
  readonly hooks: readonly string[];
}

const mostUnpacked = 64 * 1024 * 1024;
const unzip = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip);
const zip = promisify<Buffer, Buffer>(gzip);

export const isPending = ({ status }: Pick<Revision, 'status'>): boolean => status.startsWith('pending-');

/**
 * Helm sets this status first and purges the release at the end. An interrupted uninstall keeps it, with some objects
 * deleted.
 */
export const isUninstalling = ({ status }: Pick<Revision, 'status'>): boolean =>
  status === 'uninstalling' || status === 'uninstalled';

/** `revisionsOf` returns the newest first. */
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

/** `objectsOf` returns hooks last, as `helm template` prints them. */
export async function objectsOf({ manifest, hooks }: Pick<Release, 'manifest' | 'hooks'>): Promise<UnknownObject[]> {
  return objectsIn([manifest, ...hooks].join('\n---\n'));
}

/**
 * `markFailed` lets the next Helm run continue after an interrupted one. Returns false if the release changed
 * meanwhile.
 */
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
      `Revision ${revision} of the release cannot be read: it is not in the format of Helm`,
    );
  }
}
