/**
 * Checks stored objects against a change: whether each would still be read unchanged and accepted. Objects are added one at a time, so that
 * a cluster of any size is checked in bounded memory.
 */
import { differences, Reader, touched } from './compare/reading.ts';
import { type Crd, type CrdVersion, conversionStrategy, preferredVersion, schemaOf, storageVersion } from './crd.ts';
import type { Fault } from './instance/index.ts';
import { isObject } from './json.ts';
import type { Json } from './verdict.ts';

export interface StoredObjects {
  readonly checked: number;
  readonly broken: number;
  /** The first objects that would break, at most ten. */
  readonly first: readonly {
    readonly namespace?: string;
    readonly name: string;
    /** Why it would break; the texts contain values of the object. */
    readonly reasons: readonly string[];
    /** The path of each reason, without values; empty for the object as a whole. */
    readonly paths: readonly string[];
  }[];
}

export interface StoredObjectsCheck {
  /** Checks an object that the API server serves, in any version of the old definition. */
  add(object: Json): void;
  result(): StoredObjects;
}

const NAMED = 10;
const REASONS = 10;

/**
 * `storedObjectsCheck` counts the stored objects that a change would break, and names the first of them.
 *
 *     const check = storedObjectsCheck(before, after);
 *     for (const object of objects) check.add(object);
 *     const { checked, broken, first } = check.result();
 *     console.log(`${broken} of ${checked} objects break`, first[0]?.name, first[0]?.reasons);
 */
export function storedObjectsCheck(before: Crd, after: Crd): StoredObjectsCheck {
  const judge = judgement(before, after);
  const first: StoredObjects['first'][number][] = [];
  let checked = 0;
  let broken = 0;
  return {
    add(object) {
      checked++;
      const reasons = judge(object, first.length < NAMED);
      if (reasons.length === 0) return;
      broken++;
      if (first.length >= NAMED) return;
      const named = reasons.slice(0, REASONS);
      first.push({ ...identity(object), reasons: named.map(({ text }) => text), paths: named.map(({ path }) => path) });
    },
    result: () => ({ checked, broken, first }),
  };
}

function identity(object: Json): { namespace?: string; name: string } {
  const { name, namespace } = (object.metadata ?? {}) as { name?: unknown; namespace?: unknown };
  return { ...(typeof namespace === 'string' ? { namespace } : {}), name: typeof name === 'string' ? name : '' };
}

interface Reason {
  readonly path: string;
  readonly text: string;
}

/** Lists the reasons why an object breaks. If `named` is false, only whether there are any matters. */
type Judge = (object: Json, named: boolean) => readonly Reason[];

function judgement(before: Crd, after: Crd): Judge {
  const whole = definitionReasons(before, after);
  if (whole.length > 0) return () => whole;
  const byVersion = new Map<string, Judge>();
  return (object, named) => {
    const version =
      String(object.apiVersion ?? '')
        .split('/')
        .at(-1) ?? '';
    let judge = byVersion.get(version);
    if (judge === undefined) {
      judge = versionJudgement(before, after, version);
      byVersion.set(version, judge);
    }
    return judge(object, named);
  };
}

/** Reasons that apply to every object, whatever its content. */
function definitionReasons(before: Crd, after: Crd): Reason[] {
  const fixed: readonly (readonly [string, unknown, unknown])[] = [
    ['spec.group', before.spec.group, after.spec.group],
    ['spec.scope', before.spec.scope, after.spec.scope],
    ['spec.names.plural', before.spec.names.plural, after.spec.names.plural],
    ['spec.names.kind', before.spec.names.kind, after.spec.names.kind],
  ];
  return fixed
    .filter(([, old, now]) => old !== now)
    .map(([path, old, now]) => ({ path, text: `${path} changed from ${old} to ${now}` }));
}

function reading(version: CrdVersion | undefined, crd: Crd): Reader | undefined {
  const schema = version === undefined ? undefined : schemaOf(version);
  return schema === undefined ? undefined : new Reader(schema, crd.spec.preserveUnknownFields !== true, 'many');
}

function versionJudgement(before: Crd, after: Crd, name: string): Judge {
  const find = (crd: Crd): CrdVersion | undefined => crd.spec.versions.find((version) => version.name === name);
  const now = find(after);
  if (now === undefined) {
    const gone = [{ path: '', text: `version ${name} no longer exists` }];
    return () => gone;
  }
  const old = reading(find(before), before);
  // Without a webhook an object is pruned by the version it is stored in and by the one that a client uses.
  const others = conversionStrategy(after) === 'None' ? [storageVersion, preferredVersion] : [];
  const moved = others.filter((of) => of(before)?.name !== of(after)?.name).map((of) => of(after));
  const ways = new Set([now, ...moved.filter((version) => version?.name !== name)]);
  const through = [...ways].map((version) => reading(version, after)).filter((one) => one !== undefined);
  const scaled = scaledFrom(find(before), now);
  return (object, named) => [...scaled(object), ...through.flatMap((one) => reasonsOf(object, old, one, named))];
}

/** If a change adds the scale subresource, the API server checks the number of replicas, whatever the schema allows. */
function scaledFrom(old: CrdVersion | undefined, now: CrdVersion): (object: Json) => readonly Reason[] {
  const path = now.subresources?.scale?.specReplicasPath;
  if (path === undefined || old?.subresources?.scale != null) return () => [];
  const steps = path.split('.').filter((step) => step !== '');
  return (object) => {
    const replicas = steps.reduce<unknown>((value, step) => (isObject(value) ? value[step] : undefined), object);
    if (typeof replicas !== 'number' && typeof replicas !== 'bigint') return [];
    if (replicas >= 0 && replicas < 2 ** 31) return [];
    return [{ path, text: `${path}: ${replicas} is not a valid number of replicas (no update is accepted)` }];
  };
}

function reasonsOf(object: Json, old: Reader | undefined, now: Reader, named: boolean): readonly Reason[] {
  const read = now.read(object);
  const reasons = read.pruned.map((path) => ({ path, text: `${path} is no longer in the schema and is pruned` }));
  const gone = new Set(read.pruned);
  for (const { path, before, after } of differences(object, read.value)) {
    if (gone.has(path)) continue;
    const text = `${path} reads as ${JSON.stringify(after) ?? 'absent'} instead of ${JSON.stringify(before)}`;
    reasons.push({ path, text });
  }
  if (!named && reasons.length > 0) return reasons;
  const faults = [...now.faults(read.value), ...now.faultsOfUpdate(read.value)];
  if (faults.length === 0) return reasons;
  const known = new Set([...(old?.faults(object) ?? []), ...(old?.faultsOfUpdate(object) ?? [])].map(faultKey));
  const fresh = faults.filter((fault) => !known.has(faultKey(fault)));
  if (fresh.length === 0) return reasons;
  if (!named) return fresh.map(({ path, message }) => ({ path, text: message }));
  const stays = new Set(now.faults(touched(read.value), read.value).map(faultKey));
  for (const fault of fresh) {
    const spared = stays.has(faultKey(fault))
      ? 'no update is accepted'
      : 'existing value is grandfathered; any other update is rejected';
    const { path, message } = fault;
    reasons.push({ path, text: `${path === '' ? 'the object' : path}: ${message} (${spared})` });
  }
  return reasons;
}

const faultKey = ({ path, keyword }: Fault): string => `${path}\u0000${keyword}`;
