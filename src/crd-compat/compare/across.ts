/**
 * Compares versions with each other. Without a conversion webhook, only apiVersion changes when an object passes from
 * one version to another: what the version of a request, or of the storage, does not name is pruned.
 */
import { same } from '../canonical.ts';
import { type Crd, type CrdVersion, conversionStrategy, preferredVersion, schemaOf, storageVersion } from '../crd.ts';
import { applyDefaults, samples } from '../instance/index.ts';
import { isObject } from '../json.ts';
import type { CrdSchema } from '../schema.ts';
import { type Change, type Witness, worst } from '../verdict.ts';
import { BREAKING, type Draft, Notes, RISKY, ROOT, SAFE, type Scope, type Step } from './draft.ts';
import { pairOf } from './pair.ts';
import { Passage, Reader, Since } from './reading.ts';
import { compareSchemas } from './schema.ts';
import { compareSubresources } from './versions.ts';
import { type Readings, settle, settling } from './witness.ts';

/** The number of losses that one change lists. */
const LISTED = 5;
/** The number of values that are tried where the simplest one shows nothing. */
const TRIED = 8;

/** `changesAcross` lists what clients of one version lose or are refused through another. */
export function changesAcross(before: Crd, after: Crd): Change[] {
  const old = new World(before);
  const now = new World(after);
  return [
    ...preferenceChange(old, now),
    ...storageChange(old, now),
    ...(now.relabels ? [...unstored(old, now), ...roundTrips(old, now)] : []),
  ];
}

/** One definition, with the readers of its versions. */
class World {
  readonly crd: Crd;
  readonly storage: CrdVersion | undefined;
  readonly preferred: CrdVersion | undefined;
  readonly served: readonly CrdVersion[];
  /** Whether conversion changes nothing but apiVersion. */
  readonly relabels: boolean;
  readonly #readers = new Map<CrdVersion, Reader>();

  constructor(crd: Crd) {
    this.crd = crd;
    this.storage = storageVersion(crd);
    this.preferred = preferredVersion(crd);
    this.served = crd.spec.versions.filter(({ served }) => served);
    this.relabels = conversionStrategy(crd) === 'None';
  }

  find(name: string): CrdVersion | undefined {
    return this.crd.spec.versions.find((version) => version.name === name);
  }

  serves(name: string): boolean {
    return this.find(name)?.served === true;
  }

  reader(version: CrdVersion): Reader {
    const known = this.#readers.get(version);
    const reader = known ?? new Reader(schemaOf(version) ?? {}, this.crd.spec.preserveUnknownFields !== true);
    this.#readers.set(version, reader);
    return reader;
  }
}

/** Clients that name no version use the preferred one: to them, another one is a change of the schema. */
function preferenceChange(before: World, after: World): Change[] {
  const [from, to] = [before.preferred, after.preferred];
  if (from === undefined || to === undefined || from.name === to.name) return [];
  const subresources = new Notes(to.name);
  compareSubresources(before.crd, from, to, subresources);
  const found = [
    ...(after.relabels ? refusedOrLost(before, after, from, to) : []),
    ...settle(subresources.drafts, pairOf(before.crd, after.crd, from, to)),
  ];
  return summary(found, {
    version: '',
    path: 'spec.versions',
    kind: 'preferred-version-changed',
    before: from.name,
    after: to.name,
    message: `The preferred version changed from ${from.name} to ${to.name}: clients that name no version, such as kubectl, read and write ${to.name} now.`,
    hits: `clients that read objects through ${to.name} and write them back`,
  });
}

function refusedOrLost(before: World, after: World, from: CrdVersion, to: CrdVersion): Change[] {
  const now = after.find(from.name);
  const sources = now?.served === true && !same(schemaOf(now), schemaOf(from)) ? [from, now] : [from];
  const others = after.served.filter(({ name }) => name !== from.name && name !== to.name && before.serves(name));
  return [
    ...sources.flatMap((each) =>
      shown(after, each, to, meaningful(draftsBetween(after.crd, each, to, 'all')), 'validated'),
    ),
    // Clients of a third version lose what the old preferred version did not prune.
    ...others.flatMap((each) => shown(after, each, to, fresh(before, after, each, [to, from]), 'replaced')),
  ];
}

/** A default that is missing or different in another version concerns only new manifests: stored objects have theirs. */
const meaningful = (drafts: readonly Draft[]): readonly Draft[] =>
  drafts.filter(({ kind }) => kind !== 'default-changed' && kind !== 'default-removed');

/** Objects are written in the storage version, whichever version they are sent in. */
function storageChange(before: World, after: World): Change[] {
  const [from, to] = [before.storage, after.storage];
  if (from === undefined || to === undefined || from.name === to.name) return [];
  const draft = {
    version: to.name,
    path: `spec.versions[${to.name}].storage`,
    kind: 'storage-version-moved' as const,
    before: from.name,
    after: to.name,
    message: `Objects are stored as ${to.name} now, no longer as ${from.name}.`,
    hits: `objects stored as ${from.name}`,
  };
  if (after.relabels) {
    const drafts = draftsBetween(after.crd, from, to, 'reading');
    // Clients of another version read objects with the defaults of the storage version.
    const others = after.served.some(({ name }) => name !== from.name && before.serves(name));
    const defaults = others ? drafts.filter(changesDefaults) : [];
    const undefaulted = settle(defaults.map(({ probe: _, otherwise: _otherwise, ...each }) => ({ ...each, ...RISKY })));
    return summary([...shown(after, from, to, losing(drafts), 'stored'), ...undefaulted], draft);
  }
  const converts = draftsBetween(after.crd, from, to, 'all').length > 0;
  const hits = 'every stored object is converted by the webhook when it is read';
  return settle([{ ...draft, ...(converts ? { ...RISKY, hits } : SAFE) }]);
}

/** Whether the storage version has another default: of a field that it shares with the old one, or of a new one. */
const changesDefaults = ({ kind, after }: Draft): boolean =>
  kind === 'default-removed' ||
  kind === 'default-changed' ||
  (kind === 'field-added' && isObject(after) && after.default !== undefined);

/** Fields of a version that the storage version prunes on every write, and did not before. */
function unstored(before: World, after: World): Change[] {
  const { storage } = after;
  if (storage === undefined) return [];
  const others = after.served.filter(({ name }) => name !== storage.name);
  return others.flatMap((version) => {
    const was = before.storage === undefined ? [] : [storage, before.storage];
    // The change of the storage version reports what the fields that it had before lose.
    const drafts =
      version.name === before.storage?.name
        ? beyond(losing(draftsBetween(after.crd, before.storage, storage, 'reading')), [
            ...losing(draftsBetween(after.crd, version, storage, 'reading')),
          ])
        : fresh(before, after, version, was);
    const found = shown(after, version, storage, drafts, 'stored');
    // A null that is dropped means the same to nearly every client.
    const lost = found
      .filter((change) => change.class === 'breaking')
      .map((change) =>
        change.kind === 'nullable-removed' ? { ...change, class: 'risky' as const, ...RISKY } : change,
      );
    if (lost.length === 0) return [];
    return summary(lost, {
      version: version.name,
      path: `spec.versions[${version.name}]`,
      kind: 'field-not-stored',
      before: undefined,
      after: storage.name,
      message: `Version ${version.name} has fields that the storage version ${storage.name} does not keep.`,
      hits: `objects written through ${version.name}`,
      // Where the storage version is the same, no object could have such a field yet.
      ...(before.serves(version.name) && before.storage?.name !== storage.name
        ? {}
        : { storedObjects: 'safe' as const }),
    });
  });
}

/** What clients of one served version remove from objects of another, or are refused, when they write them back. */
function roundTrips(before: World, after: World): Change[] {
  return after.served.flatMap((from) =>
    after.served.flatMap((to) =>
      from === to ? [] : [...removed(before, after, from, to), ...notAccepted(before, after, from, to)],
    ),
  );
}

const isPreferredNow = (before: World, after: World, version: CrdVersion): boolean =>
  version === after.preferred && version.name !== before.preferred?.name;

/** Fields of a version that a client of another version removes when it reads an object and writes it back. */
function removed(before: World, after: World, from: CrdVersion, to: CrdVersion): readonly Change[] {
  // The change of the preferred version reports what it removes.
  if (isPreferredNow(before, after, to) && before.serves(from.name)) return [];
  const found = shown(after, from, to, fresh(before, after, from, [to, to]), 'replaced');
  const lost = found.filter((change) => change.class === 'breaking');
  if (lost.length === 0) return [];
  return summary(
    lost.map((change) => ({ ...change, class: 'risky', ...RISKY })),
    {
      version: from.name,
      path: `spec.versions[${from.name}]`,
      kind: 'field-not-round-tripped',
      before: undefined,
      after: to.name,
      message: `A client of ${to.name} that writes an object back removes fields that only ${from.name} has.`,
      hits: `objects written through ${to.name}`,
      // Objects have such fields already only if the clients are new, not the fields.
      ...(before.serves(from.name) && !before.serves(to.name) ? {} : { storedObjects: 'safe' as const }),
    },
  );
}

/** Values of a version that clients of another version read and cannot write. */
function notAccepted(before: World, after: World, from: CrdVersion, to: CrdVersion): readonly Change[] {
  const becomesPreferred = isPreferredNow(before, after, to);
  // The change of the preferred version reports what it refuses of the old one.
  if (becomesPreferred && from.name === before.preferred?.name) return [];
  const earlier = earlierWay(before, from, before.serves(to.name) || !becomesPreferred ? to : before.preferred);
  if (earlier !== undefined && same(schemaOf(earlier.from), schemaOf(from)) && same(schemaOf(earlier.to), schemaOf(to)))
    return [];
  const refusals = draftsBetween(after.crd, from, to, 'all').flatMap(refusal);
  if (refusals.length === 0) return [];
  const was = earlier === undefined ? [] : draftsBetween(before.crd, earlier.from, earlier.to, 'all');
  const [whole, keys] = [new Set(was.map(wholeOf)), new Set(was.map(keyOf))];
  const drafts = refusals
    .filter((draft) => !whole.has(wholeOf(draft)))
    // Where values were refused before, only others that are shown count.
    .map((draft) =>
      keys.has(keyOf(draft)) ? { ...draft, otherwise: { ...SAFE, decidedBy: 'acceptance' as const } } : draft,
    );
  const since = earlier === undefined ? undefined : way(before, earlier.from, earlier.to, 'validated');
  const found = shown(after, from, to, drafts, 'validated', since).filter((change) => change.class !== 'safe');
  if (found.length === 0) return [];
  // Clients that exist break if they read a value of another type, or if an update of something else is refused.
  const graded = found.map((change) => {
    const breaks = change.class === 'breaking' && change.storedObjects === 'breaking' && before.serves(to.name);
    return breaks ? { ...change, ...BREAKING } : { ...change, class: 'risky' as const, ...RISKY };
  });
  const writes = isPreferredNow(before, after, from)
    ? `; ${from.name} is the preferred version now: clients that name no version, such as kubectl, write through it`
    : '';
  return summary(graded, {
    version: from.name,
    path: `spec.versions[${from.name}]`,
    kind: 'value-not-round-tripped',
    before: undefined,
    after: to.name,
    message: `A client of ${to.name} reads values that only ${from.name} accepts, and is refused when it writes them${writes}.`,
    hits: `objects written through ${from.name} that a client of ${to.name} updates or applies again`,
    // No object has such a value yet if its version is new.
    ...(before.serves(from.name) && !before.serves(to.name) ? {} : { storedObjects: 'safe' as const }),
  });
}

/** The versions of these names as objects passed from one to the other before the change, if they could. */
function earlierWay(
  before: World,
  from: CrdVersion,
  to: CrdVersion | undefined,
): { readonly from: CrdVersion; readonly to: CrdVersion } | undefined {
  const [one, other] = [before.find(from.name), before.find(to?.name ?? '')];
  return before.relabels && one?.served === true && other?.served === true ? { from: one, to: other } : undefined;
}

/**
 * The draft if it concerns values that are refused. Updates that a rule with oldSelf refuses do not count: it refused them
 * to the clients of its version before. Only the values that a rule is known to refuse are tried.
 */
function refusal(draft: Draft): Draft[] {
  const { probe } = draft;
  if (probe?.expect !== 'refused' || draft.kind === 'default-added') return [];
  if (probe.rule === undefined) return [draft];
  const { updates, ...tried } = probe;
  if (probe.values !== undefined) return [{ ...draft, probe: { ...tried, brief: true } }];
  if (updates !== undefined && draft.kind.startsWith('transition-rule-')) return [];
  const { probe: _, otherwise: _otherwise, ...undecided } = draft;
  return [{ ...undecided, ...RISKY, decidedBy: 'syntax' }];
}

/**
 * What objects of a version can lose in another, and could not lose before: there, they passed through the version
 * `was`.
 */
function fresh(before: World, after: World, from: CrdVersion, [to, was]: readonly CrdVersion[]): Draft[] {
  if (to === undefined || was === undefined) return [];
  const [one, other] = [before.find(from.name), before.find(was.name)];
  const isUsed = other !== undefined && (other.served || other === before.storage);
  if (!before.relabels || one?.served !== true || !isUsed) return losing(draftsBetween(after.crd, from, to, 'reading'));
  if (same(schemaOf(one), schemaOf(from)) && same(schemaOf(other), schemaOf(to))) return [];
  const found = losing(draftsBetween(after.crd, from, to, 'reading'));
  if (found.length === 0) return [];
  return beyond(losing(draftsBetween(before.crd, one, other, 'reading')), found);
}

/** The drafts that are not among those that are known. */
function beyond(known: readonly Draft[], drafts: readonly Draft[]): Draft[] {
  const keys = new Set(known.map(keyOf));
  return drafts.filter((draft) => !keys.has(keyOf(draft)));
}

/** The whole change that a draft is about. A limit that moved further is another one. */
const wholeOf = ({ path, kind, before, after }: Draft): string => JSON.stringify([path, kind, before, after]);

const keyOf = ({ path, kind }: Draft): string => `${path} ${kind.startsWith('field-re') ? 'field-removed' : kind}`;

/** The drafts that concern what is kept of an object. */
function losing(drafts: readonly Draft[]): Draft[] {
  return drafts.flatMap((draft) => {
    if (draft.kind === 'default-added') return [draft];
    const isLoss = draft.storedObjects === 'breaking' && draft.probe !== undefined;
    return isLoss ? [{ ...draft, ...BREAKING, otherwise: { ...SAFE, decidedBy: 'acceptance' as const } }] : [];
  });
}

function draftsBetween({ spec }: Crd, from: CrdVersion, to: CrdVersion, scope: Scope): readonly Draft[] {
  const [one, other] = [schemaOf(from), schemaOf(to)];
  if (one === undefined || other === undefined || same(one, other)) return [];
  const notes = new Notes(to.name, scope);
  const place = { ...ROOT, status: to.subresources?.status != null };
  const type = { apiVersion: `${spec.group}/${from.name}`, kind: spec.names.kind };
  compareSchemas(one, other, place, notes, scope === 'all' ? { resource: true, type } : { resource: true });
  const stored = spec.versions.find(({ storage }) => storage);
  return notes.drafts.map((draft) => withValues(draft, one, stored === undefined ? undefined : schemaOf(stored)));
}

/**
 * The draft with the values that show it, where the simplest value does not: an object is emptied where a schema has
 * another type, and a field that is lost reads as its default.
 */
function withValues(draft: Draft, schema: CrdSchema, stored: CrdSchema = schema): Draft {
  const { kind, probe } = draft;
  const field = probe === undefined ? undefined : schemaAt(schema, probe.steps);
  if (probe === undefined || field === undefined) return draft;
  if (kind === 'type-changed' && (field.type === 'object' || field.type === 'array'))
    return { ...draft, probe: { ...probe, values: [...samples(field, { seed: 1, count: TRIED })].reverse() } };
  const filled = schemaAt(stored, probe.steps)?.default ?? field.default ?? null;
  if (probe.expect !== 'pruned' || filled === null) return draft;
  const known = field.enum ?? (field.type === 'boolean' ? [true, false] : []);
  const values = [...known, ...samples(field, { seed: 1, count: TRIED })].filter(
    (value) => !same(applyDefaults(value, field), applyDefaults(filled, field)),
  );
  return { ...draft, probe: { ...probe, values: values.length > 0 ? values : [filled] } };
}

/** The schema at a place of another one. */
export function schemaAt(schema: CrdSchema, [step, ...rest]: readonly Step[]): CrdSchema | undefined {
  if (step === undefined) return schema;
  const { properties, items, additionalProperties: values } = schema;
  const named = properties?.[step] ?? (typeof values === 'object' ? values : undefined);
  const next = typeof step === 'number' ? items : named;
  return next === undefined ? undefined : schemaAt(next, rest);
}

/**
 * The way of an object from one version to another: `stored` as the other one, `replaced` by a client of it, or
 * `validated`: replaced, or created again, by a client of it.
 */
type Way = 'stored' | 'replaced' | 'validated';

/**
 * The drafts that objects show on this way, the worst first, until enough are found. What they met on the way `since`,
 * which is that of before the change, is not shown again.
 */
function shown(
  after: World,
  from: CrdVersion,
  to: CrdVersion,
  drafts: readonly Draft[],
  by: Way,
  since?: Passage,
): Change[] {
  const pair = pairOf(after.crd, after.crd, from, to);
  if (pair === undefined || drafts.length === 0) return [];
  const found: Change[] = [];
  let breaking = 0;
  for (const change of settling(inSeverity(drafts), pair, readingsOf(after, from, to, by, since))) {
    found.push(change.witness === undefined ? change : { ...change, witness: on(change.witness, to.name, by) });
    if (change.class === 'breaking') breaking++;
    if (breaking > LISTED) break;
  }
  return found;
}

function readingsOf(after: World, from: CrdVersion, to: CrdVersion, by: Way, since: Passage | undefined): Readings {
  const own = after.reader(from);
  const old = by === 'stored' ? own : new Passage([own, after.reader(after.storage ?? to), own]);
  const now = way(after, from, to, by);
  return { old, now: since === undefined ? now : new Since(now, since) };
}

function way(world: World, from: CrdVersion, to: CrdVersion, by: Way): Passage {
  const [own, other] = [world.reader(from), world.reader(to)];
  if (by === 'stored') return new Passage([own, other, own]);
  const storage = world.reader(world.storage ?? to);
  const apiVersion = `${world.crd.spec.group}/${to.name}`;
  return new Passage([own, storage, other, storage, own], {
    apiVersion,
    version: other,
    at: 2,
    creates: by === 'validated',
  });
}

const severity = ({ storedObjects, manifests }: Draft): number =>
  (storedObjects === 'breaking' ? 0 : 2) + (manifests === 'breaking' ? 0 : 1);

const inSeverity = (drafts: readonly Draft[]): Draft[] =>
  [...drafts].sort((one, other) => severity(one) - severity(other) || (textOf(one) < textOf(other) ? -1 : 1));

const textOf = ({ path, kind }: Draft): string => `${path}\u0000${kind}`;

/** The witness with the way that it took. */
function on(witness: Witness, version: string, by: Way): Witness {
  const { outcome, path, because } = witness;
  if (by === 'stored') {
    const lost = `${path} is pruned on every write: the storage version ${version} does not name it`;
    return { ...witness, because: outcome === 'pruned' ? lost : `stored as ${version}, ${because}` };
  }
  const lost = `${path} is lost if a client reads the object through ${version}, which does not name it, and writes it back`;
  return { ...witness, through: version, because: outcome === 'pruned' ? lost : `through ${version}, ${because}` };
}

/** One change for all that was found. */
function summary(
  found: readonly Change[],
  draft: Omit<Draft, 'storedObjects' | 'manifests'> & Partial<Pick<Draft, 'storedObjects'>>,
): Change[] {
  const serious = found.filter((change) => change.class !== 'safe');
  const shownBest = serious.find(({ witness, ...change }) => change.class === 'breaking' && witness !== undefined);
  const witness = (shownBest ?? serious.find((change) => change.witness !== undefined))?.witness;
  const paths = [...new Set(serious.map(({ path }) => path))];
  const listed = `${paths.slice(0, LISTED).join(', ')}${paths.length > LISTED ? ', …' : ''}`;
  return settle([
    {
      storedObjects: worst(serious.map(({ storedObjects }) => storedObjects)),
      manifests: worst(serious.map(({ manifests }) => manifests)),
      decidedBy: serious.some(({ decidedBy }) => decidedBy === 'syntax') ? 'syntax' : 'acceptance',
      ...draft,
      hits: `${draft.hits}: ${listed}`,
      ...(witness === undefined ? {} : { witness }),
    },
  ]);
}
