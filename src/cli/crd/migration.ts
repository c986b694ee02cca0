/**
 * How a breaking change can be made without breaking anybody: the old version stays as it is, what is new becomes a version of its own,
 * and objects are carried from one to the other. A sketch: the conversion itself is for whoever knows what the fields mean.
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

/** What a conversion has to do about one change, both ways. */
export interface Carry {
  readonly version: string;
  readonly path: string;
  readonly kind: ChangeKind;
  /** From the old version to the new one. */
  readonly up: string;
  /** And back, for clients that still speak the old one. */
  readonly down: string;
}

export interface Migration {
  readonly name: string;
  /** Of the change as it was meant. */
  readonly verdict: Verdict;
  /** Old version to new version, of those that change in a breaking way. */
  readonly versions: readonly { readonly from: string; readonly to: string }[];
  readonly carries: readonly Carry[];
  readonly steps: readonly string[];
  /** The definition to apply in its place. */
  readonly definition: Crd;
  /** Of applying that one. */
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

/** Nothing that a version offers is taken away yet. */
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

/** `v1` → `v2`, `v1beta1` → `v1beta2`; the first that is free. */
export function nextVersion(name: string, taken: ReadonlySet<string>): string {
  const [, stem = `${name}-v`, number = '1'] = /^(.*?v(?:\d+(?:alpha|beta))?)(\d+)$/.exec(name) ?? [];
  for (let next = Number(number) + 1; ; next += 1) if (!taken.has(`${stem}${next}`)) return `${stem}${next}`;
}

/** Changes that only narrow what is accepted carry nothing over: the object stays as it is. */
const narrowing =
  /^(?:enum|minimum|maximum|multiple-of|min-|max-|pattern|format|unique-items|rule|transition-rule|all-of|any-of|one-of|not|required)-/;

function conversionOf(before: Crd, after: Crd, carries: readonly Carry[]): CrdConversion | undefined {
  if (after.spec.conversion?.strategy === 'Webhook') return after.spec.conversion;
  if (before.spec.conversion?.strategy === 'Webhook') return before.spec.conversion;
  if (carries.every(({ kind }) => narrowing.test(kind))) return after.spec.conversion;
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
        up: `keep what ${path} held in an annotation, so that a conversion back does not lose it`,
        down: `put it back from the annotation`,
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
            ? `leave ${path} out where it was left out`
            : `write ${shown(before)} to ${path} where it was left out`,
        down: 'nothing: the value is written out',
      };
    case 'required-added':
      return { up: `give ${path} a value where it was left out`, down: 'nothing: the old version accepts it' };
    case 'nullable-removed':
      return { up: `leave ${path} out where it is null`, down: 'nothing: the old version accepts it' };
    default:
      return {
        up: `bring ${path} to a value that the new version accepts, or leave it: what is not changed is not checked again`,
        down: 'nothing, where the old version accepts what the new one does',
      };
  }
}

/** Without what a cluster or a tool has written into it. */
function cleaned({ apiVersion, kind, metadata, spec }: Crd): Crd {
  const { name, annotations = {} } = metadata;
  const written = Object.entries(annotations).filter(
    ([key]) => key !== 'kubectl.kubernetes.io/last-applied-configuration',
  );
  const kept = written.length === 0 ? {} : { annotations: Object.fromEntries(written) };
  return { apiVersion, kind, metadata: { name, ...kept }, spec };
}
