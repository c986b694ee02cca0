/**
 * Turns drafts into changes: searches for an object that shows each draft, and classifies the change by whether one is
 * found.
 */
import { pathText, sample, type Wish } from '../instance/index.ts';
import { isObject } from '../json.ts';
import type { CrdSchema } from '../schema.ts';
import { type Change, type Json, type Witness, worse } from '../verdict.ts';
import { adviceFor } from './advice.ts';
import { type Draft, type Probe, RISKY, type Step } from './draft.ts';
import { show } from './format.ts';
import { differences, Reader, type Reading, touched } from './reading.ts';

/** One version before and after the change, with a reader for each. */
export interface Pair {
  readonly before: CrdSchema;
  readonly after: CrdSchema;
  readonly prunedBefore: boolean;
  readonly prunedAfter: boolean;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** The path of the collection of objects, without a name. */
  readonly path: string;
  /** Whether status is a subresource. */
  readonly status: boolean;
}

/**
 * The number of searches in one version. Searches are counted, not timed, so that the same input gives the same output.
 * A definition with more breaking changes than this is breaking anyway.
 */
const SEARCHES = 600;
const TRIES = 40;
/** The number of further searches among the simplest objects only, which usually suffice if there is a witness. */
const GLANCES = 5_000;
const GLANCE_TRIES = 2;
/** The name of example objects, unless the name itself shows the change. */
const NAME = 'example';
/** Larger objects are not printed. */
const MAX_OBJECT = 128 * 1024;

export const settle = (drafts: readonly Draft[], pair?: Pair): Change[] => [...settling(inOrder(drafts), pair)];

/** `settling` settles one draft after the other, so that the caller can stop. */
export function* settling(drafts: readonly Draft[], pair?: Pair, readings?: Readings): Generator<Change> {
  const exhibition = pair === undefined ? undefined : new Exhibition(pair, readings ?? readingsOf(pair));
  for (const draft of drafts) {
    if (draft.probe === undefined || exhibition === undefined) {
      yield changeOf(draft);
      continue;
    }
    const found = exhibition.show(draft, draft.probe);
    // If no object can be generated that shows the change, it is risky: neither harm nor safety is proved.
    if (found === 'not shown') yield changeOf({ ...draft, ...(draft.otherwise ?? { ...RISKY, decidedBy: 'syntax' }) });
    else yield changeOf({ ...draft, witness: found });
  }
}

/** What becomes of an object before the change, and after it. */
export interface Readings {
  readonly old: Reading;
  readonly now: Reading;
}

const readingsOf = (pair: Pair): Readings => ({
  old: new Reader(pair.before, pair.prunedBefore),
  now: new Reader(pair.after, pair.prunedAfter),
});

/** Sorts by path, then kind, so that the order of keys in the schema does not matter. */
function inOrder(drafts: readonly Draft[]): Draft[] {
  const keyed = drafts.map((draft) => ({ draft, key: `${draft.path}\u0000${draft.kind}` }));
  return keyed
    .sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
    .map(({ draft }) => draft);
}

function changeOf(draft: Draft): Change {
  const { version, path, kind, storedObjects, manifests, message } = draft;
  const worseOne = worse(storedObjects, manifests);
  return {
    version,
    path,
    kind,
    class: worseOne,
    ...(draft.before === undefined ? {} : { before: draft.before }),
    ...(draft.after === undefined ? {} : { after: draft.after }),
    storedObjects,
    manifests,
    message,
    hits: worseOne === 'safe' ? '' : (draft.hits ?? ''),
    advice: worseOne === 'safe' ? '' : (draft.advice ?? adviceFor(kind)),
    decidedBy: draft.decidedBy ?? 'acceptance',
    ...(draft.witness === undefined || worseOne === 'safe' ? {} : { witness: draft.witness }),
  };
}

class Exhibition {
  readonly #pair: Pair;
  readonly #old: Reading;
  readonly #now: Reading;
  #left = SEARCHES;
  #glances = GLANCES;

  constructor(pair: Pair, { old, now }: Readings) {
    this.#pair = pair;
    this.#old = old;
    this.#now = now;
  }

  show(draft: Draft, probe: Probe): Witness | 'not shown' {
    if (probe.large === true) return said(draft, probe);
    if (this.#left <= 0) return this.#glance(draft, probe);
    for (const wish of wishes(probe)) {
      const object = this.#sample(wish);
      const witness = object === undefined ? undefined : this.#judge(object, probe);
      if (witness !== undefined) return witness;
    }
    for (const { from, to } of probe.updates ?? []) {
      const object = this.#sample({ path: probe.steps, value: from });
      const witness = object === undefined ? undefined : this.#judgeUpdate(object, to, probe);
      if (witness !== undefined) return witness;
    }
    // Whether a rule or the surroundings of an absent field accept the object can depend on any other part of it.
    const searches = (probe.rule !== undefined && probe.brief !== true) || probe.absent !== undefined;
    if (!searches && probe.withoutStatus === undefined) return 'not shown';
    const shows = (object: Json): boolean => this.#judge(object, probe) !== undefined;
    const found = this.#sample(wishes({ ...probe, values: [] })[0] as Wish, shows);
    return (found === undefined ? undefined : this.#judge(found, probe)) ?? 'not shown';
  }

  /**
   * Used when all searches are spent: a change that the simplest objects do not show is not called breaking, unless it
   * is known to be.
   */
  #glance(draft: Draft, probe: Probe): Witness | 'not shown' {
    for (const wish of this.#glances > 0 ? wishes(probe) : []) {
      this.#glances--;
      const object = this.#sample(wish, undefined, GLANCE_TRIES);
      const witness = object === undefined ? undefined : this.#judge(object, probe);
      if (witness !== undefined) return witness;
    }
    return draft.otherwise === undefined || probe.certain === true ? said(draft, probe) : 'not shown';
  }

  #sample(wish: Wish, where?: (object: Json) => boolean, tries = TRIES): Json | undefined {
    this.#left--;
    const { apiVersion, kind, namespaced } = this.#pair;
    const found = sample(this.#pair.before, wish, {
      resource: { apiVersion, kind, name: NAME },
      tries,
      ...(where === undefined ? {} : { where: (object) => where(object as Json) }),
    });
    if (found === undefined) return undefined;
    // A value that is wished for the root need not say what it is.
    const object: Json = { apiVersion, kind, metadata: { name: NAME }, ...(found as Json) };
    if (!namespaced) return object;
    return { ...object, metadata: { ...(object.metadata as Json), namespace: 'default' } };
  }

  /** The effect of the change on an object; undefined if there is none. */
  #judge(object: Json, probe: Probe): Witness | undefined {
    const around = pathText(probe.steps);
    const place = probe.absent === undefined ? around : `${around}${pathText([probe.absent])}`;
    const now = this.#now.read(object);
    if (probe.withoutStatus === true) return this.#judgeWithoutStatus(object, now.value);
    const faults =
      probe.updated === true ? this.#now.faults(touched(now.value), now.value) : this.#now.faults(now.value);
    const fault = faults.find(
      ({ path, rule }) => (probe.rule === undefined || rule === probe.rule) && isAbout(path, place, around),
    );
    if (fault !== undefined) {
      const shown = printed(object);
      const because = `${fault.path === '' ? 'the object' : fault.path}: ${fault.message}`;
      const inStatus = this.#pair.status && probe.steps[0] === 'status';
      if (inStatus || probe.updated === true) {
        const request = requestOf(this.#pair, object, inStatus);
        return { outcome: 'request-fails', ...shown, request, path: fault.path, because };
      }
      return { outcome: 'refused', ...shown, path: fault.path, because };
    }
    if (probe.rule !== undefined) return undefined;
    const shown = printed(object);
    const old = this.#old.read(object);
    const known = new Set(old.pruned);
    const pruned = now.pruned.find((path) => !known.has(path) && isAbout(path, place, place));
    if (pruned !== undefined)
      return { outcome: 'pruned', ...shown, path: pruned, because: `${pruned} is pruned: the schema does not name it` };
    const changed = differences(old.value, now.value).find(({ path }) => isAbout(path, place, place));
    if (changed === undefined) return undefined;
    if (faults.length > 0) {
      // A fault at or around the place is due to this change. A fault elsewhere is not, and such an object is not read
      // back.
      const nearest = faults.find(({ path }) => place.startsWith(path));
      return (
        nearest && { outcome: 'refused', ...shown, path: nearest.path, because: `${nearest.path}: ${nearest.message}` }
      );
    }
    const after = changed.after === undefined ? 'is not there' : `reads as ${show(changed.after)}`;
    return {
      outcome: 'changed',
      ...shown,
      path: changed.path,
      because: `${changed.path} ${after} instead of ${show(changed.before)}`,
    };
  }

  /** The effect of the change on an update of the value at the place; undefined if there is none. */
  #judgeUpdate(object: Json, to: unknown, probe: Probe): Witness | undefined {
    const update = replaced(object, probe.steps, to) as Json;
    const [from, old] = [object, update].map((each) => this.#old.read(each).value);
    if (this.#old.faults(old).length > 0 || this.#old.faults(old, from).length > 0) return undefined;
    const faults = this.#now.faults(this.#now.read(update).value, this.#now.read(object).value);
    const fault = faults.find(({ rule }) => rule === probe.rule);
    if (fault === undefined) return undefined;
    const because = `${fault.path === '' ? 'the object' : fault.path}: ${fault.message}`;
    const inStatus = this.#pair.status && probe.steps[0] === 'status';
    const request = requestOf(this.#pair, object, inStatus);
    return { outcome: 'update-refused', ...printed(object), update, request, path: fault.path, because };
  }

  /** Defaults are applied before status is dropped, and those inside status are dropped with it. */
  #judgeWithoutStatus(object: Json, read: unknown): Witness | undefined {
    const { status, ...rest } = read as Json;
    if (status === undefined || this.#now.faults(read).length > 0) return undefined;
    const [fault] = this.#now.faults(rest);
    if (fault === undefined) return undefined;
    const because = `status is left out when it is created, and then ${fault.path === '' ? 'the object' : fault.path}: ${fault.message}`;
    return { outcome: 'refused', ...printed(object), path: fault.path, because };
  }
}

/** `requestOf` returns the request that updates the object, or its status. */
export function requestOf({ path }: Pair, object: Json | undefined, ofStatus: boolean): string {
  const { name = NAME } = (object?.metadata ?? {}) as { readonly name?: string };
  return `PUT ${path}/${name}${ofStatus ? '/status' : ''}`;
}

const printed = (object: Json): { object?: Json } => (JSON.stringify(object).length > MAX_OBJECT ? {} : { object });

/** The witness without an object: it describes one instead. */
const said = (draft: Draft, probe: Probe): Witness => ({
  outcome: probe.expect,
  path: pathText(probe.steps),
  because: `${draft.hits ?? draft.path}: ${draft.message}`,
});

function wishes({ steps, absent, values = [], failing, withoutStatus }: Probe): readonly Wish[] {
  if (withoutStatus === true) return [{ path: ['status'], matching: {} }];
  if (absent !== undefined) return [{ path: [...steps, absent], absent: true }];
  const exact: Wish[] = values.map((value) => ({ path: steps, value }));
  if (failing !== undefined) exact.push({ path: steps, matching: { not: failing } });
  return exact.length > 0 ? exact : [{ path: steps, matching: {} }];
}

/** A fault concerns a place if it is at the place, below it, or at the object that the constraint is on. */
const isAbout = (path: string, place: string, around: string): boolean =>
  path === around || path.startsWith(place) || (path !== '' && place.startsWith(path) && path.startsWith(around));

/** The object with another value at the place. */
function replaced(value: unknown, [step, ...rest]: readonly Step[], to: unknown): unknown {
  // The name of an object cannot be updated: only its content is replaced.
  if (step === undefined) return isObject(value) && isObject(to) ? { ...to, ...identityOf(value) } : to;
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? replaced(item, rest, to) : item));
  const object = (value ?? {}) as Json;
  return { ...object, [step]: rest.length === 0 ? to : replaced(object[step], rest, to) };
}

const identityOf = ({ apiVersion, kind, metadata }: Json): Json =>
  apiVersion === undefined || metadata === undefined ? {} : { apiVersion, kind, metadata };
