/**
 * `kidp explain`: for the people who write policies and those who are stopped by them. For every object and policy: whether it
 * matches and which field says no, what its variables are, and under each rule the value of every part of its expression. What a
 * Secret or a sensitive path holds is not shown.
 */
import { nearest } from '../../cel/internal.ts';
import {
  type AdmissionRequest,
  explainPolicy,
  type Json,
  jsonPatchBetween,
  mutate,
  type PolicyExplanation,
  type PolicySet,
} from '../../policy/index.ts';
import { schemasOf } from '../check/defaults.ts';
import { type Bench, requestFor } from '../check/evaluate.ts';
import { judgesOthers, takeInventory } from '../check/inventory.ts';
import { type CheckOptions, settingsOf } from '../check/options.ts';
import { pluralsOf } from '../check/plurals.ts';
import { type CheckResult, identityOf, referenceOf } from '../check/result.ts';
import { worldOf } from '../check/world.ts';
import { InputError } from '../common/failure.ts';
import type { Streams } from '../common/streams.ts';
import { inputErrorOf, type LocatedObject, readManifests, readObjects } from '../documents/index.ts';
import { asText } from './render.ts';

export interface ExplainOptions
  extends Pick<
    CheckOptions,
    'filename' | 'old' | 'params' | 'operation' | 'user' | 'group' | 'namespaceLabels' | 'exceptionNamespace' | 'now'
  > {
  readonly policy?: string;
  readonly rule?: string;
  readonly output: 'text' | 'json';
}

export interface ObjectExplanation {
  readonly resource: CheckResult['resource'];
  /** What mutations make of it first. */
  readonly changes: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[];
  readonly policies: readonly PolicyExplanation[];
}

export async function explain(options: ExplainOptions, streams: Streams): Promise<number> {
  const { objects, problems } = await readManifests(options.filename, streams.in);
  const { exceptionNamespace } = options;
  const inventory = takeInventory(
    objects,
    exceptionNamespace === undefined ? {} : { exceptionNamespaces: exceptionNamespace },
  );
  const wrong = [...problems, ...inventory.problems];
  if (wrong.length > 0) throw inputErrorOf(wrong);
  const explained = objects.filter((located) => !judgesOthers(located));
  const files = options.filename.join(', ');
  if (inventory.policies.length === 0) throw new InputError('no-policy', `${files}: no policy found.`);
  if (explained.length === 0) throw new InputError('nothing', `${files}: no object to explain found.`);
  findNames(inventory.set, options);
  const bench = await benchFor(options, inventory.set, objects, streams);
  const explanations = explained.map((located) => explainOne(located, bench, options));
  streams.out.write(options.output === 'json' ? `${JSON.stringify(explanations, null, 2)}\n` : asText(explanations));
  return 0;
}

/** A name that nothing has is a slip, and an empty answer would hide it. */
function findNames({ policies }: PolicySet, { policy, rule }: ExplainOptions): void {
  const models = policies.map(({ model }) => model);
  mustBeOneOf(
    '--policy',
    policy,
    models.map(({ name }) => name),
  );
  mustBeOneOf(
    '--rule',
    rule,
    models.flatMap(({ rules }) => rules.map(({ name }) => name)),
  );
}

function mustBeOneOf(flag: string, given: string | undefined, known: readonly string[]): void {
  if (given === undefined || known.includes(given)) return;
  const near = nearest(given, known);
  throw new InputError(
    'option',
    `${flag} "${given}" does not exist: ${near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`}`,
  );
}

async function benchFor(
  options: ExplainOptions,
  set: PolicySet,
  located: readonly LocatedObject[],
  streams: Streams,
): Promise<Bench> {
  const { output: _output, ...same } = options;
  const settings = settingsOf(same);
  const params = (await readObjects(options.params ?? [], streams.in)).map(({ object }) => object);
  const objects = located.map(({ object }) => object);
  const old = options.old === undefined ? undefined : await readObjects(options.old, streams.in);
  return {
    set,
    settings,
    world: worldOf({ now: settings.now, namespaceLabels: settings.namespaceLabels, objects: [...params, ...objects] }),
    plurals: new Map(pluralsOf(objects)),
    schemas: schemasOf(objects),
    passes: true,
    ...(old === undefined ? {} : { before: new Map(old.map(({ object }) => [identityOf(object), object])) }),
  };
}

function explainOne(located: LocatedObject, bench: Bench, { policy, rule }: ExplainOptions): ObjectExplanation {
  const asked = requestFor(located, bench);
  const mutation = mutate(bench.set, asked, bench.world);
  const request = mutation.changed ? { ...asked, object: mutation.object } : asked;
  const policies = explainPolicy(bench.set, request, bench.world)
    .filter((each) => policy === undefined || each.policy === policy)
    .map((each) => (rule === undefined ? each : { ...each, rules: each.rules.filter(({ name }) => name === rule) }));
  return {
    resource: referenceOf(located),
    changes: mutation.changed ? changesOf(asked, mutation.object, bench.set) : [],
    policies:
      rule === undefined ? policies : policies.filter(({ rules, matched }) => matched === 'no' || rules.length > 0),
  };
}

/** Values of Secrets and sensitive paths must not be shown, so only the positions are printed. */
function changesOf(
  { kind, object }: AdmissionRequest,
  changed: Json,
  { policies }: PolicySet,
): ObjectExplanation['changes'] {
  const changes = jsonPatchBetween(object, changed);
  const open = kind.kind !== 'Secret' && policies.every(({ model }) => model.sensitivePaths.length === 0);
  return open ? changes : changes.map(({ op, path }) => ({ op, path }));
}
