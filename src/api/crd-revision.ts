/** CRDRevision: a CustomResourceDefinition as it was stored once, so that a later one can be compared with it (FR-OP-004). */
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

/** An object of more than 1.5 MiB is not taken by etcd. */
const longestDefinition = 1_400_000;
/** What a definition may unpack to: no API server stores a larger one, and what was forged shall not fill the memory. */
const mostBytes = 8 * 1024 * 1024;

const count = (description: string) => integer(description, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

const spec = object('A definition as it was stored.', {
  crd: object('Which definition, and which version of it.', {
    name: objectName('The name of the CustomResourceDefinition, for example `widgets.example.com`.'),
    uid: text('Its uid: one that was deleted and made anew is another one.', { minLength: 1, maxLength: 128 }),
    generation: count('Its generation, which rises with every change of its spec.'),
  }),
  sequence: count(
    'The number of this revision among all of the same name, also of definitions that were deleted since.',
  ),
  digest: text('The digest of the spec of the definition.', {
    minLength: 71,
    maxLength: 71,
    pattern: '^sha256:[0-9a-f]{64}$',
  }),
  definition: text('The spec of the definition: JSON, compressed with gzip, in base64.', {
    minLength: 1,
    maxLength: longestDefinition,
    pattern: '^[A-Za-z0-9+/]+=*$',
  }),
  bytes: integer('How long the JSON is.', { minimum: 2, maximum: mostBytes }),
  recordedAt: dateOrInstant('When it was seen.'),
  registered: object('It was never stored here: somebody has registered it as that of an operator.', {
    operator: objectName('The Operator that it belongs to.'),
    version: text('The version of the Operator.', { minLength: 1, maxLength: 128 }),
    by: text('Who registered it.', { minLength: 1, maxLength: 512 }),
  }).optional(),
}).rules({
  rule: 'self == oldSelf',
  message: 'a revision never changes',
  reason: 'FieldValueForbidden',
});

const status = object('What has become of the definition.', {
  ...statusFields,
  removedAt: instant(
    'When the definition was seen to be gone. Its revisions are kept for a while after that.',
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
    'A CRDRevision holds a CustomResourceDefinition as it was stored at one time. The platform writes one for every version, and keeps the newest of each definition; `kidp crd history` shows them.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    { name: 'CRD', type: 'string', jsonPath: '.spec.crd.name', description: 'The name of the definition.' },
    { name: 'Sequence', type: 'integer', jsonPath: '.spec.sequence', description: 'The number of the revision.' },
    { name: 'Generation', type: 'integer', jsonPath: '.spec.crd.generation', description: 'The generation then.' },
    { name: 'Recorded', type: 'date', jsonPath: '.spec.recordedAt', description: 'When it was seen.' },
    { name: 'Digest', type: 'string', jsonPath: '.spec.digest', description: 'The digest of its spec.', priority: 1 },
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

/** On each revision: all of one definition are found by it. */
export const REVISION_LABEL = `crd.${GROUP}/name`;

/** On one that was registered, in place of the label above: what was stored here is not told from it. */
export const REGISTERED_LABEL = `crd.${GROUP}/registered`;

/** A value of a label has 63 characters at most, a name of a definition up to 253. */
export const revisionLabelOf = (crdName: string): string =>
  crdName.length <= 63 ? crdName : `${crdName.slice(0, 46).replace(/[^a-z0-9]+$/, '')}-${shortHash(crdName)}`;

/** The same for the same version of the same definition, so that it is written once whoever writes it, and however often. */
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

/** From the spec of a definition, as JSON text, to what a revision holds; undefined where it is too large to be kept. */
export function packDefinition(json: string): PackedDefinition | undefined {
  const definition = gzipSync(json, { level: 6 }).toString('base64');
  const bytes = Buffer.byteLength(json);
  if (definition.length > longestDefinition || bytes > mostBytes) return undefined;
  return { digest: `sha256:${createHash('sha256').update(json).digest('hex')}`, definition, bytes };
}

/** The definition that a revision holds, with the name and identity it had. Throws where it holds none. */
export function unpackRevision({ spec, metadata }: Pick<CrdRevision, 'spec' | 'metadata'>) {
  const { crd, definition, digest } = spec;
  let json: Buffer;
  try {
    json = gunzipSync(Buffer.from(definition, 'base64'), { maxOutputLength: mostBytes });
  } catch (cause) {
    throw unreadable(metadata.name, 'it cannot be unpacked', cause);
  }
  if (`sha256:${createHash('sha256').update(json).digest('hex')}` !== digest)
    throw unreadable(metadata.name, 'its content is not what its digest says');
  return {
    apiVersion: 'apiextensions.k8s.io/v1' as const,
    kind: 'CustomResourceDefinition' as const,
    metadata: { name: crd.name, uid: crd.uid, generation: crd.generation },
    spec: JSON.parse(json.toString('utf8')) as Record<string, unknown>,
  };
}

const unreadable = (name: string, why: string, cause?: unknown): Error =>
  Object.assign(new Error(`CRDRevision ${name}: ${why}. Delete it: it is of no use`, { cause }), {
    code: 'crd-revision/unreadable',
  });
