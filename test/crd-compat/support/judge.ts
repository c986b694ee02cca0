/** Checks a verdict against the behaviour of the API server. */
import {
  type Change,
  compareCrds,
  type Json,
  readCrd,
  type Verdict,
  type Witness,
  worst,
} from '../../../src/crd-compat/index.ts';
import { applyDefaults, prune, validator } from '../../../src/crd-compat/instance/index.ts';
import { type Change as Attempted, manifestBroken, type Outcome, type Seen, storedBroken } from './trial.ts';

export interface Case {
  readonly name: string;
  readonly before: Json;
  readonly after: Json;
  /** Valid before the change, as far as is known without a server. */
  readonly objects: readonly Json[];
  /** Content that the objects are updated to; the updates are accepted before the change. */
  readonly updates?: readonly (Json | undefined)[];
  /** Whether the objects are valid only after the change; a list says it of each. */
  readonly later?: boolean | readonly boolean[];
  /** Versions that clients read the objects through after the change and write them back, in the same order. */
  readonly through?: readonly string[];
}

export interface Prepared {
  readonly case: Case;
  readonly verdict: Verdict;
  /** The changes whose witness is an object, in the order in which the objects follow those of the case. */
  readonly shown: readonly (Change & { readonly witness: Witness & { readonly object: Json } })[];
  /** The breaking changes whose witness is a request. */
  readonly asked: readonly (Change & { readonly witness: Witness & { readonly request: string } })[];
  readonly attempt: Attempted;
}

/** The verdict, and the trial that shows whether it holds: the objects of the case, and the verdict's own witnesses. */
export function prepare(given: Case): Prepared {
  const verdict = compareCrds(read(given.before), read(given.after));
  const breaking = verdict.changes.filter((change) => change.class === 'breaking');
  const shown = verdict.changes.filter(({ witness }) => witness?.object !== undefined) as unknown as Prepared['shown'];
  const asked = breaking.filter(
    ({ witness }) => witness?.object === undefined && witness?.request !== undefined,
  ) as unknown as Prepared['asked'];
  const objects = [...given.objects, ...shown.map(({ witness }) => witness.object)];
  return {
    case: given,
    verdict,
    shown,
    asked,
    attempt: {
      before: given.before,
      after: given.after,
      updates: objects.map((_, index) =>
        index < given.objects.length ? given.updates?.[index] : shown[index - given.objects.length]?.witness.update,
      ),
      through: objects.map((_, index) =>
        index < given.objects.length ? given.through?.[index] : shown[index - given.objects.length]?.witness.through,
      ),
      later: objects.map((object, index) =>
        index < given.objects.length
          ? given.later === true || (Array.isArray(given.later) && given.later[index] === true)
          : isLater(shown[index - given.objects.length]?.kind) ||
            !isValid(object, given.before, shown[index - given.objects.length]?.witness.update),
      ),
      requests: asked.map(({ witness }) => readable(witness.request)).filter((each) => each !== undefined),
      objects: objects.map((object, index) => {
        // Each needs a name of its own, except a witness for a change of names.
        const { path, witness } = shown[index - given.objects.length] ?? {};
        const isNamed =
          path?.startsWith('.metadata') || (path === '.' && metadataOf(witness?.object ?? {}).name !== usual);
        return isNamed ? object : { ...object, metadata: { ...metadataOf(object), name: `object-${index}` } };
      }),
    },
  };
}

/** Whether a change of this kind concerns objects that are written after it. */
const isLater = (kind: Change['kind'] | undefined): boolean =>
  kind === 'field-not-stored' || kind === 'field-not-round-tripped' || kind === 'value-not-round-tripped';

/** Whether a definition serves the version of an object and accepts it as it is, and the update of it. */
export function isValid(object: Json, definition: Json, update?: Json): boolean {
  const version = read(definition).spec.versions.find(
    ({ name, served }) => served && String(object.apiVersion).endsWith(`/${name}`),
  );
  const schema = version?.schema?.openAPIV3Schema;
  if (schema === undefined) return false;
  const [from, to] = [object, update ?? object].map((each) => applyDefaults(prune(each, schema).value, schema));
  const { validate } = validator(schema);
  return holds(from, object) && validate(from).length === 0 && validate(to, from).length === 0;
}

/** Whether nothing of an object was pruned or replaced. */
function holds(read: unknown, written: unknown): boolean {
  if (typeof read !== 'object' || typeof written !== 'object' || read === null || written === null)
    return read === written;
  return Object.entries(written).every(([key, value]) => holds((read as Json)[key], value));
}

/** The path of a request that can be made without an object; those that change something are not made. */
const readable = (request: string): string | undefined => /^GET (\S+)$/.exec(request)?.[1];

const metadataOf = (object: Json): Json => object.metadata as Json;

/** What witnesses are called where it does not matter. */
const usual = 'example';

function read(definition: Json) {
  const { crd, issues } = readCrd(definition);
  if (crd === undefined) throw new Error(`the definition cannot be read: ${JSON.stringify(issues)}`);
  return crd;
}

export interface Finding {
  /**
   * `wrong`: the verdict says safe where something was refused, pruned or changed, or breaking without a witness that shows it.
   * `sample`: an object that our validator takes is none that the API server takes.
   */
  readonly sort: 'wrong' | 'sample';
  readonly text: string;
}

export function judge({ case: given, verdict, shown, attempt }: Prepared, outcome: Outcome): Finding[] {
  const findings: Finding[] = [];
  const wrong = (text: string) => findings.push({ sort: 'wrong', text });
  for (const change of verdict.changes)
    if (change.class === 'breaking' && change.witness?.object === undefined && change.witness?.request === undefined)
      wrong(`breaking without an object or a request that shows it: ${change.kind} at ${change.path}`);
  if (outcome.notSetUp !== undefined || outcome.changeRefused !== undefined) return findings;
  const { seen } = outcome;
  const samples = seen.slice(0, given.objects.length);
  for (const { object, notValid } of samples)
    if (notValid !== undefined)
      findings.push({ sort: 'sample', text: `not valid before: ${notValid}: ${JSON.stringify(object)}` });
  const stored = worst(verdict.changes.map((change) => change.storedObjects));
  const manifests = worst(verdict.changes.map((change) => change.manifests));
  if (stored === 'safe')
    for (const each of seen.filter(storedBroken)) wrong(`stored objects are not safe: ${describe(each)}`);
  if (manifests === 'safe')
    for (const each of seen.filter(manifestBroken)) wrong(`manifests are not safe: ${describe(each)}`);
  for (const [index, { witness, kind, path }] of shown.entries()) {
    const each = seen[given.objects.length + index] as Seen;
    if (!shows(witness, each))
      wrong(`the witness of ${kind} at ${path} is not ${witness.outcome} (${witness.because}): ${describe(each)}`);
  }
  for (const { request, before, after } of outcome.requests)
    if (before === after) wrong(`${request} answers ${after}, as before the change`);
  if (attempt.objects.length !== seen.length) wrong('not every object was tried');
  return findings;
}

function shows(witness: Witness, seen: Seen): boolean {
  if (seen.notValid !== undefined) return false;
  if (witness.through !== undefined) return showsThrough(witness, seen);
  const differences = [...seen.read, ...seen.updated, ...seen.applied];
  switch (witness.outcome) {
    case 'refused':
      return seen.refused !== undefined;
    case 'update-refused':
      return seen.refusedUpdates.length > 0;
    case 'pruned':
      return differences.some((each) => each.after === undefined);
    case 'changed':
      return differences.length > 0;
    case 'request-fails':
      return seen.refused !== undefined || seen.unread !== undefined || seen.refusedUpdates.length > 0;
  }
}

/** Where its own version is not served any more, an object is looked at in another one anyway. */
function showsThrough({ outcome }: Witness, { passed, read, refused }: Seen): boolean {
  const refusedUpdates = passed?.refusedUpdates ?? [];
  const refusedAgain = passed === undefined ? refused : passed.refused;
  switch (outcome) {
    case 'refused':
      return refusedAgain !== undefined;
    case 'update-refused':
      return refusedUpdates.length > 0;
    case 'request-fails':
      return refusedAgain !== undefined || refusedUpdates.length > 0;
    case 'pruned':
    case 'changed':
      return (passed?.lost ?? read).length > 0;
  }
}

const describe = (seen: Seen): string => JSON.stringify(seen);
