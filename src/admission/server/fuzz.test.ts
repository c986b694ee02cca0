/** Reviews that nobody would send: each gets an answer with its uid or a 4xx, and nothing gets in that must not. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reviewedDatabase as database, admissionReview as review } from '../../../test/support/review.ts';
import { compilePolicy, emptyWorld, policySet, readPolicy } from '../../policy/index.ts';
import { silentLogger } from '../../runtime/index.ts';
import type { Phase } from '../gates/gate.ts';
import type { OwnerLookup } from '../gates/ownership/owner-chain.ts';
import { admissionPipeline } from '../gates/pipeline.ts';
import type { PolicySource } from '../gates/policies/evaluation.ts';
import { deadlineIn } from '../review/deadline.ts';
import { HttpError } from '../review/http-error.ts';
import { answerReview } from './evaluate.ts';

const reviewsTried = 20_000;

const owners: OwnerLookup = {
  team: async (name) => (name === 'backend-team' ? { namespace: 'team-backend' } : undefined),
  application: async () => undefined,
  teamOf: async (namespace) => (namespace === 'team-backend' ? 'backend-team' : undefined),
};

const policies = [
  {
    name: 'few-replicas',
    types: ['apps/v1/Deployment'],
    expression: 'object.spec.replicas <= 3',
  },
  { name: 'backed-up', types: ['Database'], expression: 'spec.backup.enabled == true' },
].map(({ name, types, expression }) => {
  const { model } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name },
    spec: { selector: { resourceTypes: types }, rules: [{ name: 'only', expression }] },
  });
  const { policy } = model === undefined ? {} : compilePolicy(model);
  if (policy === undefined) throw new Error(`${name} does not compile`);
  return policy;
});
const set = policySet({ policies });
const source: PolicySource = { current: () => ({ set, world: emptyWorld(Date.now()) }), synced: () => true };
const pipeline = admissionPipeline({ policies: source, owners, reconcilers: ['kidp'] });

async function answered(text: string, phase: Phase): Promise<{ status: number; body: string }> {
  try {
    const { body } = await answerReview(text, { phase }, deadlineIn(30_000), { pipeline, log: silentLogger });
    return { status: 200, body };
  } catch (error) {
    if (error instanceof HttpError) return { status: error.status, body: error.body };
    throw error;
  }
}

interface Tree {
  spec?: { owner?: Part | null; backup?: { enabled?: unknown } | null; replicas?: unknown } | null;
  metadata?: { labels?: Record<string, unknown> | null } | null;
}
type Part = { kind?: unknown; name?: unknown };
interface Sent {
  kind?: { group?: unknown; version?: unknown; kind?: unknown };
  operation?: unknown;
  subResource?: unknown;
  object?: Tree;
  oldObject?: Tree;
}

/** Reviews that are to be denied, and of each as little as says for certain that it still is, without our code. */
const wrong: { reason: string; review: object; mustNotPass(request: Sent): boolean }[] = [
  {
    reason: 'a change of owner',
    review: review({ object: database('other-team', true), oldObject: database('backend-team', true) }),
    mustNotPass({ kind, operation, object, oldObject }) {
      if (kind?.group !== 'platform.company.com' || operation !== 'UPDATE') return false;
      const parts = (each: Part | null | undefined) => JSON.stringify([each?.kind, each?.name]);
      return parts(oldObject?.spec?.owner) !== parts(object?.spec?.owner);
    },
  },
  {
    reason: 'a label that only the platform sets',
    review: review({
      operation: 'CREATE',
      object: { ...database('backend-team', true), metadata: { labels: { 'platform.company.com/tier': 'gold' } } },
      oldObject: null,
    }),
    mustNotPass: ({ kind, operation, object, subResource }) =>
      kind?.group === 'platform.company.com' &&
      operation === 'CREATE' &&
      (subResource ?? '') === '' &&
      object?.metadata?.labels?.['platform.company.com/tier'] !== undefined,
  },
  {
    reason: 'too many replicas',
    review: review({
      kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
      resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      operation: 'CREATE',
      namespace: 'default',
      object: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 5 } },
    }),
    mustNotPass: ({ kind, operation, object, subResource }) =>
      JSON.stringify(kind) === '{"group":"apps","version":"v1","kind":"Deployment"}' &&
      operation === 'CREATE' &&
      (subResource ?? '') === '' &&
      typeof object?.spec?.replicas === 'number' &&
      object.spec.replicas > 3,
  },
];

/** One change somewhere in a review: a value replaced, removed or repeated, or the text itself damaged. */
const strange = fc.constantFrom<unknown>(
  null,
  '',
  0,
  -1,
  1.5,
  1e300,
  true,
  [],
  {},
  'Team',
  'UPDATE',
  '__proto__',
  'constructor',
  { __proto__: null },
  { length: -1 },
  ['x', ['y', {}]],
  '\u0000\ud800',
  'x'.repeat(5000),
);
const change = fc.record({
  at: fc.nat({ max: 1_000_000 }),
  how: fc.constantFrom('replace', 'replace', 'remove', 'repeat', 'damage', 'number'),
  value: strange,
});
type Change = { at: number; how: string; value: unknown };

/** Texts of numbers that JSON.parse would not keep. */
const numbers = ['9007199254740993', '-9223372036854775808', '18446744073709551616', '1.0', '1e400', '-0', '0x1', '01'];

function damaged(value: unknown, changes: readonly Change[]): string {
  const tree = structuredClone(value);
  const onText = changes.filter(({ how }) => how === 'damage' || how === 'number');
  for (const { at, how, value: replacement } of changes) {
    if (how === 'damage' || how === 'number') continue;
    const places = placesIn(tree);
    const place = places[at % Math.max(1, places.length)];
    if (place === undefined) continue;
    if (how === 'remove') delete place.parent[place.key];
    else if (how === 'repeat') place.parent[`${place.key}_`] = place.parent[place.key];
    else place.parent[place.key] = structuredClone(replacement);
  }
  return onText.reduce((text, { at, how }) => {
    const cut = at % (text.length + 1);
    if (how === 'damage') return text.slice(0, cut) + String.fromCharCode(at % 256) + text.slice(cut + 1);
    const strings = [...text.matchAll(/:("[^"]*"|\d+|true|false)/g)];
    const found = strings[at % Math.max(1, strings.length)];
    if (found === undefined) return text;
    const number = numbers[at % numbers.length];
    return `${text.slice(0, found.index)}:${number}${text.slice(found.index + found[0].length)}`;
  }, JSON.stringify(tree));
}

interface Place {
  parent: Record<string, unknown>;
  key: string;
}

function placesIn(tree: unknown): Place[] {
  const places: Place[] = [];
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const parent = value as Record<string, unknown>;
    for (const key of Object.keys(parent)) {
      places.push({ parent, key });
      look(parent[key]);
    }
  };
  look(tree);
  return places;
}

describe('reviews that nobody would send', () => {
  it('get a valid answer with the same uid or a 4xx, and never admit a forbidden request', async () => {
    const denied = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<Phase>('validate', 'mutate'),
        fc.constantFrom(...wrong),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (phase, { reason, review: base, mustNotPass }, changes) => {
          const text = damaged(base, changes);
          const { status, body } = await answered(text, phase);
          if (status >= 400 && status < 500) return;
          const sent = JSON.parse(text) as { request: Sent & { uid: string } };
          const { response } = JSON.parse(body);
          const isAnswer = status === 200 && response.uid === sent.request.uid && typeof response.allowed === 'boolean';
          if (!isAnswer) throw new Error(`${status} ${body} to ${text}`);
          if (!response.allowed) denied.set(reason, (denied.get(reason) ?? 0) + 1);
          // What a policy says counts in the last word, when nobody can change the object any more.
          const decides = phase === 'validate' || reason !== 'too many replicas';
          if (response.allowed && decides && mustNotPass(sent.request)) throw new Error(`admitted: ${text}`);
          if (!response.allowed && response.status.message === '') throw new Error(`denied without a word: ${text}`);
        },
      ),
      { numRuns: reviewsTried },
    );
    // The check above must have been of use: most changes leave what is wrong in place.
    for (const { reason } of wrong) expect(denied.get(reason)).toBeGreaterThan(reviewsTried / 50);
  });
});
