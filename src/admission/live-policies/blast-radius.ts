/**
 * Reports which existing objects a new Policy would deny. It stops at its time limit and reports how far it got: a
 * policy on everything in a large cluster is answered with "at least".
 */

import { decide, type PolicyModel, type PolicySet, storedRequest, type World } from '../../policy/index.ts';
import { storedSelection, storedTypes } from '../../policy/internal.ts';
import { type Client, eachObject, type UnknownObject } from '../../runtime/index.ts';
import { type ResourceMapping, type ServedResource, Slice } from '../../runtime/internal.ts';
import { lookupFailure } from '../gates/lookup-failure.ts';
import { worldWithNeeds } from './needs.ts';
import { selectorText } from './objects.ts';

export interface BlastRadiusOptions {
  readonly client: Client;
  /** The policy alone, with the exceptions in force. */
  readonly set: PolicySet;
  readonly model: PolicyModel;
  readonly world: World;
  readonly mapping: ResourceMapping;
  readonly budgetMilliseconds: number;
}

export interface BlastRadius {
  /** The number of checked objects, and of those that the policy matches. */
  readonly looked: number;
  readonly matched: number;
  readonly denied: number;
  /** The first objects that would be denied: `Database team-a/users (rule require-backup)`. */
  readonly first: readonly string[];
  /** The resources that could not be read, with the reason. */
  readonly missing: readonly string[];
  /** Whether the time limit was reached first. */
  readonly partial: boolean;
  /** Rules that only a request can evaluate. */
  readonly unasked: readonly string[];
  readonly milliseconds: number;
}

const mostNamed = 5;
const mostAtATime = 4;
/**
 * The size of the first page. The API server serves it from its cache in one response, which is evaluated while it
 * streams in.
 */
const firstPage = 10_000;
const laterPages = 1_000;
/** The time limit of one object. Other reviews wait for it. */
const objectMilliseconds = 250;

export async function blastRadius(options: BlastRadiusOptions): Promise<BlastRadius> {
  const { client, model, mapping, budgetMilliseconds } = options;
  const began = performance.now();
  const tally = new Tally();
  const stop = new AbortController();
  const end = began + budgetMilliseconds;
  const late = setTimeout(() => stop.abort(), budgetMilliseconds);
  if (budgetMilliseconds <= 0) stop.abort();
  const types = storedTypes(model, mapping.resources).filter(({ verbs }) => verbs.includes('list'));
  const waiting = types.flatMap((type) => listsOf(model, type));
  const missing: string[] = [];
  const world = await worldWithNeeds({ client, mapping, models: [model], world: options.world, signal: stop.signal });
  const slice = new Slice();
  let isCut = false;
  const judge = (object: UnknownObject, type: ServedResource) => {
    const deadline = Date.now() + Math.min(objectMilliseconds, end - performance.now());
    const decision = decide(options.set, storedRequest(object, type), world, { deadline });
    // What was not evaluated by the deadline is an error, and says nothing about the object.
    if (Date.now() >= deadline && decision.results.some(({ result }) => result === 'error')) isCut = true;
    else tally.count(object, decision);
  };
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined && !stop.signal.aborted; next = waiting.shift()) {
      const { type, ...selection } = next;
      const lists = { ...selection, signal: stop.signal, firstPage, laterPages };
      // Objects are evaluated as they are received, until others should have their turn.
      const held: UnknownObject[] = [];
      const take = (object: UnknownObject) => {
        if (held.length > 0 || slice.isOver()) held.push(object);
        else if (!stop.signal.aborted) judge(object, type);
      };
      const catchUp = async () => {
        for (const object of held.splice(0)) {
          while (slice.isOver()) await slice.rest();
          if (stop.signal.aborted) return;
          judge(object, type);
        }
      };
      await eachObject(client, type, { ...lists, betweenPages: catchUp }, take)
        .then(catchUp)
        .catch((error: unknown) => {
          if (!stop.signal.aborted) missing.push(`${type.plural} (${lookupFailure(error)})`);
        });
    }
  };
  await Promise.all(Array.from({ length: mostAtATime }, work));
  clearTimeout(late);
  return { ...tally.result(), missing, partial: stop.signal.aborted || isCut, milliseconds: performance.now() - began };
}

/** Lists each named namespace separately, as long as there are few. */
function listsOf(model: PolicyModel, type: ServedResource) {
  const { namespaces, selector } = storedSelection(model, type);
  const labelled = selector === undefined ? {} : { labelSelector: selectorText(selector) };
  if (namespaces === undefined || namespaces.length > 10) return [{ type, ...labelled }];
  return namespaces.map((namespace) => ({ type, namespace, ...labelled }));
}

class Tally {
  #looked = 0;
  #matched = 0;
  #denied = 0;
  readonly #first: string[] = [];
  readonly #unasked = new Set<string>();

  count({ kind, metadata }: UnknownObject, decision: ReturnType<typeof decide>): void {
    this.#looked += 1;
    if (decision.matched.length === 0) return;
    this.#matched += 1;
    const rules: string[] = [];
    for (const { denies, rule, result, exception } of decision.results) {
      if (denies) rules.push(rule);
      else if (result === 'skip' && exception === undefined) this.#unasked.add(rule);
    }
    if (rules.length === 0) return;
    this.#denied += 1;
    if (this.#first.length >= mostNamed) return;
    const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
    this.#first.push(`${kind} ${name} (${rules.join(', ')})`);
  }

  result(): Pick<BlastRadius, 'looked' | 'matched' | 'denied' | 'first' | 'unasked'> {
    return {
      looked: this.#looked,
      matched: this.#matched,
      denied: this.#denied,
      first: this.#first,
      unasked: [...this.#unasked],
    };
  }
}
