/**
 * Drafts how to make a breaking change without breaking clients: the old version stays unchanged, the change becomes a new version, and
 * objects are converted between the two. It is only a draft: the author, who knows what the fields mean, writes the conversion.
 */
import {
  type Change,
  type ChangeKind,
  type Crd,
  type CrdConversion,
  type CrdVersion,
  compareCrds,
  type Verdict,
} from '../../crd-compat/index.ts';
import { storageVersion } from '../../crd-compat/internal.ts';
import { stepsOf } from './migration-steps.ts';

/** `Carry` describes how a conversion handles one change, in both directions. */
export interface Carry {
  readonly version: string;
  readonly path: string;
  readonly kind: ChangeKind;
  /** From the old version to the new one. */
  readonly up: string;
  /** From the new version back to the old one, for clients that still use the old one. */
  readonly down: string;
}

export interface Migration {
  readonly name: string;
  /** The verdict on the change as the author wrote it. */
  readonly verdict: Verdict;
  /** The versions that change in a breaking way, each with the new version that replaces it. */
  readonly versions: readonly { readonly from: string; readonly to: string }[];
  readonly carries: readonly Carry[];
  readonly steps: readonly string[];
  /** The drafted definition, to apply instead of the author's. */
  readonly definition: Crd;
  /** The verdict on applying the drafted definition. */
  readonly sketched: Verdict;
}

const identityKinds: readonly ChangeKind[] = ['group-changed', 'scope-changed', 'plural-changed', 'kind-changed'];

export function migrationOf(before: Crd, after: Crd): Migration {
  const verdict = compareCrds(before, after, { witnesses: false });
  const breaking = verdict.changes.filter((change) => change.class === 'breaking');
  const elsewhere = breaking.some(({ kind }) => identityKinds.includes(kind));
  const carries = breaking.filter(({ path }) => path.startsWith('.')).map(carryOf);
  const plan =
    elsewhere || breaking.length === 0 ? { definition: cleaned(after), versions: [] } : sketch(before, after, carries);
  const steps = stepsOf({ before, after, elsewhere, breaking, carries, ...plan });
  const sketched = compareCrds(elsewhere ? undefined : before, plan.definition, { witnesses: false });
  return { name: before.metadata.name, verdict, carries, steps, ...plan, sketched };
}

function sketch(before: Crd, after: Crd, carries: readonly Carry[]): Pick<Migration, 'definition' | 'versions'> {
  const taken = new Set([...before.spec.versions, ...after.spec.versions].map(({ name }) => name));
  const broken = new Set(carries.map(({ version }) => version));
  const moved: { from: string; to: string }[] = [];
  const storage = storageVersion(before)?.name;
  const made: CrdVersion[] = [];
  for (const old of before.spec.versions) {
    const now = after.spec.versions.find(({ name }) => name === old.name);
    if (now !== undefined && broken.has(old.name)) {
      const to = nextVersion(old.name, taken);
      taken.add(to);
      moved.push({ from: old.name, to });
      made.push(deprecated(old, to, before), { ...now, name: to, served: true });
    } else if (now === undefined) made.push(deprecated(old, undefined, before));
    else made.push(kept(old, now, before));
  }
  const added = after.spec.versions.filter(({ name }) => !before.spec.versions.some((old) => old.name === name));
  const versions = [...made, ...added].map((version) => ({ ...version, storage: version.name === storage }));
  const conversion = conversionOf(before, after, carries);
  const spec = { ...after.spec, versions, ...(conversion === undefined ? {} : { conversion }) };
  return { definition: { ...cleaned(after), spec }, versions: moved };
}

/** `kept` returns the changed version with the old subresources and selectable fields, so that nothing is removed yet. */
function kept(old: CrdVersion, now: CrdVersion, before: Crd): CrdVersion {
  const { status, scale } = { ...old.subresources, ...now.subresources };
  const subresources = {
    ...(status == null ? {} : { status }),
    ...(old.subresources?.scale == null && scale == null ? {} : { scale: old.subresources?.scale ?? scale }),
  };
  const selectable = [...(old.selectableFields ?? []), ...(now.selectableFields ?? [])];
  const selectableFields = selectable.filter(
    ({ jsonPath }, index) => selectable.findIndex((other) => other.jsonPath === jsonPath) === index,
  );
  const version = {
    ...now,
    ...(Object.keys(subresources).length === 0 ? {} : { subresources }),
    ...(selectableFields.length === 0 ? {} : { selectableFields }),
  };
  return old.served && !now.served ? deprecated({ ...version, served: true }, undefined, before) : version;
}

function deprecated(version: CrdVersion, to: string | undefined, { spec }: Crd): CrdVersion {
  const instead = to === undefined ? 'it will be removed' : `use ${spec.group}/${to}`;
  const deprecationWarning = `${spec.group}/${version.name} ${spec.names.kind} is deprecated: ${instead}`;
  return { ...version, deprecated: true, deprecationWarning };
}

/** `nextVersion` returns the next version name that is not taken: `v1` → `v2`, `v1beta1` → `v1beta2`. */
export function nextVersion(name: string, taken: ReadonlySet<string>): string {
  const [, stem = `${name}-v`, number = '1'] = /^(.*?v(?:\d+(?:alpha|beta))?)(\d+)$/.exec(name) ?? [];
  for (let next = Number(number) + 1; ; next += 1) if (!taken.has(`${stem}${next}`)) return `${stem}${next}`;
}

function conversionOf(before: Crd, after: Crd, carries: readonly Carry[]): CrdConversion | undefined {
  if (after.spec.conversion?.strategy === 'Webhook') return after.spec.conversion;
  if (before.spec.conversion?.strategy === 'Webhook') return before.spec.conversion;
  if (carries.length === 0) return after.spec.conversion;
  const service = { namespace: 'default', name: `${after.spec.names.plural}-conversion`, path: '/convert', port: 443 };
  return { strategy: 'Webhook', webhook: { clientConfig: { service }, conversionReviewVersions: ['v1'] } };
}

function carryOf({ version, path, kind, before, after }: Change): Carry {
  return { version, path, kind, ...wordsFor({ path, kind, before, after }) };
}

function wordsFor({
  path,
  kind,
  before,
  after,
}: Pick<Change, 'path' | 'kind' | 'before' | 'after'>): Pick<Carry, 'up' | 'down'> {
  const shown = (value: unknown) => JSON.stringify(value);
  switch (kind) {
    case 'field-renamed': {
      const to = `${path.slice(0, path.lastIndexOf('.'))}.${String(after)}`;
      return { up: `move ${path} to ${to}`, down: `move ${to} to ${path}` };
    }
    case 'field-removed':
    case 'map-values-removed':
    case 'map-became-fields':
    case 'preserve-unknown-fields-removed':
      return {
        up: `keep the value of ${path} in an annotation, so that converting back does not lose it`,
        down: 'restore it from the annotation',
      };
    case 'type-changed':
      return {
        up: `write ${path} as ${shown(after)} in place of ${shown(before)}`,
        down: `write ${path} as ${shown(before)} again`,
      };
    case 'default-added':
    case 'default-changed':
    case 'default-removed':
      return {
        up:
          before === undefined
            ? `leave ${path} unset where it was unset`
            : `set ${path} to ${shown(before)} where it was unset`,
        down: 'nothing: the value is set explicitly',
      };
    case 'required-added':
      return { up: `set ${path} where it was unset`, down: 'nothing: the old version accepts it' };
    case 'nullable-removed':
      return { up: `remove ${path} where it is null`, down: 'nothing: the old version accepts it' };
    default:
      return {
        up: `change ${path} to a value that the new version accepts, or keep it: unchanged values are not validated again`,
        down: 'nothing, if the old version accepts every value that the new one accepts',
      };
  }
}

/** `cleaned` removes the fields and annotations that a cluster or kubectl has added. */
function cleaned({ apiVersion, kind, metadata, spec }: Crd): Crd {
  const { name, annotations = {} } = metadata;
  const written = Object.entries(annotations).filter(
    ([key]) => key !== 'kubectl.kubernetes.io/last-applied-configuration',
  );
  const kept = written.length === 0 ? {} : { annotations: Object.fromEntries(written) };
  return { apiVersion, kind, metadata: { name, ...kept }, spec };
}
