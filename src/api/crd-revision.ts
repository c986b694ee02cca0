/**
 * The CRDRevision kind: a stored version of a CustomResourceDefinition, kept so that later versions can be compared
 * with it (docs/requirements.md, 002 FR-OP-004).
 */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  ageColumn,
  dateOrInstant,
  objectName,
  phaseColumn,
  readyColumn,
  reasonColumn,
  statusFields,
} from './common/index.ts';
import { GROUP } from './constants.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { instant, integer, object, text } from './schema/index.ts';

/** The limit below which a revision fits into etcd, which rejects objects of more than 1.5 MiB. */
const longestDefinition = 1_400_000;
/**
 * The largest size of an unpacked definition. No API server stores a larger one, and a forged revision must not exhaust
 * memory.
 */
const mostBytes = 8 * 1024 * 1024;

const count = (description: string) => integer(description, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

const spec = object('The recorded definition.', {
  crd: object('The CustomResourceDefinition and its version.', {
    name: objectName('Name of the CustomResourceDefinition, for example `widgets.example.com`.'),
    uid: text('UID of the definition. A definition that is deleted and re-created has a different UID.', {
      minLength: 1,
      maxLength: 128,
    }),
    generation: count('Generation of the definition.'),
  }),
  sequence: count(
    'Sequence number of this revision among all revisions for the same name, including those of definitions that were since deleted.',
  ),
  digest: text('Digest of the spec of the definition.', {
    minLength: 71,
    maxLength: 71,
    pattern: '^sha256:[0-9a-f]{64}$',
  }),
  definition: text('Spec of the definition as JSON, gzip-compressed and base64-encoded.', {
    minLength: 1,
    maxLength: longestDefinition,
    pattern: '^[A-Za-z0-9+/]+=*$',
  }),
  bytes: integer('Length of the JSON in bytes.', { minimum: 2, maximum: mostBytes }),
  recordedAt: dateOrInstant('Time at which the revision was recorded.'),
  registered: object(
    'Set if the definition was not observed in this cluster but registered for a version of an operator.',
    {
      operator: objectName('Operator that the definition belongs to.'),
      version: text('Version of the Operator.', { minLength: 1, maxLength: 128 }),
      by: text('User who registered the definition.', { minLength: 1, maxLength: 512 }),
    },
  ).optional(),
}).rules({
  rule: 'self == oldSelf',
  message: 'a CRDRevision cannot be changed after creation',
  reason: 'FieldValueForbidden',
});

const status = object('Observed state of the definition.', {
  ...statusFields,
  removedAt: instant(
    'Time at which the definition was found to be deleted. Its revisions are kept for a while longer.',
  ).optional(),
});

export const crdRevision = defineKind({
  kind: 'CRDRevision',
  plural: 'crdrevisions',
  singular: 'crdrevision',
  shortName: 'kcrdrev',
  scope: 'Cluster',
  deployable: false,
  description:
    'A CRDRevision records a CustomResourceDefinition at one point in time. The platform writes one for every version and keeps the newest revisions of each definition; `kidp crd history` lists them.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    { name: 'CRD', type: 'string', jsonPath: '.spec.crd.name', description: 'Name of the definition.' },
    { name: 'Sequence', type: 'integer', jsonPath: '.spec.sequence', description: 'Sequence number of the revision.' },
    {
      name: 'Generation',
      type: 'integer',
      jsonPath: '.spec.crd.generation',
      description: 'Generation of the definition.',
    },
    {
      name: 'Recorded',
      type: 'date',
      jsonPath: '.spec.recordedAt',
      description: 'Time at which the revision was recorded.',
    },
    {
      name: 'Digest',
      type: 'string',
      jsonPath: '.spec.digest',
      description: 'Digest of the spec of the definition.',
      priority: 1,
    },
    { ...phaseColumn, priority: 1 },
    { ...readyColumn, priority: 1 },
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: CRDRevision
metadata:
  name: widgets.example.com-3f0c9c0e-4
  labels:
    crd.platform.company.com/name: widgets.example.com
spec:
  crd:
    name: widgets.example.com
    uid: 3f0c9c0e-6b1f-4a53-9d0e-2f6f0b8f6d11
    generation: 4
  sequence: 4
  digest: sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a
  definition: H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==
  bytes: 2
  recordedAt: "2026-01-31T12:00:00Z"
`,
});

export type CrdRevision = ObjectOf<typeof crdRevision>;

/** The label that selects all revisions of one definition. */
export const REVISION_LABEL = `crd.${GROUP}/name`;

/**
 * The label of registered revisions. They do not carry `REVISION_LABEL`, so that they are not mistaken for observed
 * ones.
 */
export const REGISTERED_LABEL = `crd.${GROUP}/registered`;

/** `revisionLabelOf` shortens the name of a definition, which can have 253 characters, to the 63 of a label value. */
export const revisionLabelOf = (crdName: string): string =>
  crdName.length <= 63 ? crdName : `${crdName.slice(0, 46).replace(/[^a-z0-9]+$/, '')}-${shortHash(crdName)}`;

/**
 * `revisionName` names a revision deterministically, so that each version of a definition is recorded once, even with
 * several writers.
 */
export function revisionName({ name, uid, generation }: CrdRevision['spec']['crd']): string {
  const suffix = `-${uid
    .slice(0, 8)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, 'x')}-${generation}`;
  const room = 253 - suffix.length;
  if (name.length <= room) return `${name}${suffix}`;
  const hash = shortHash(name);
  return `${name.slice(0, room - hash.length - 1).replace(/[^a-z0-9]+$/, '')}-${hash}${suffix}`;
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

export type PackedDefinition = Pick<CrdRevision['spec'], 'digest' | 'definition' | 'bytes'>;

/**
 * `packDefinition` packs the spec of a definition, as JSON text. It returns undefined if the spec is too large to be
 * stored.
 */
export function packDefinition(json: string): PackedDefinition | undefined {
  const definition = gzipSync(json, { level: 6 }).toString('base64');
  const bytes = Buffer.byteLength(json);
  if (definition.length > longestDefinition || bytes > mostBytes) return undefined;
  return { digest: `sha256:${createHash('sha256').update(json).digest('hex')}`, definition, bytes };
}

/**
 * `unpackRevision` returns the recorded definition with its name and identity. It throws if the revision cannot be
 * read.
 */
export function unpackRevision({ spec, metadata }: Pick<CrdRevision, 'spec' | 'metadata'>) {
  const { crd, definition, digest } = spec;
  let json: Buffer;
  try {
    json = gunzipSync(Buffer.from(definition, 'base64'), { maxOutputLength: mostBytes });
  } catch (cause) {
    throw unreadable(metadata.name, 'cannot be decompressed', cause);
  }
  if (`sha256:${createHash('sha256').update(json).digest('hex')}` !== digest)
    throw unreadable(metadata.name, 'content does not match the digest');
  return {
    apiVersion: 'apiextensions.k8s.io/v1' as const,
    kind: 'CustomResourceDefinition' as const,
    metadata: { name: crd.name, uid: crd.uid, generation: crd.generation },
    spec: JSON.parse(json.toString('utf8')) as Record<string, unknown>,
  };
}

const unreadable = (name: string, why: string, cause?: unknown): Error =>
  Object.assign(new Error(`CRDRevision ${name}: ${why}. Delete it: it cannot be used`, { cause }), {
    code: 'crd-revision/unreadable',
  });
