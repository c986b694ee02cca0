/**
 * The API server as oracle. What the corpus expects is what it does; and a verdict holds against it: safe with one object refused, pruned
 * or changed is wrong, and breaking comes with a witness that it then refuses, prunes or reads back differently.
 *
 * KIDP_CRD_PAIRS names a directory of real pairs (`NAME/old.yaml`, `NAME/new.yaml`) to be tried as well. `npm run soak -- crd` tries
 * random pairs by the thousand.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureAssets, fluxCrdsBeside } from '../../src/controlplane/index.ts';
import type { Crd } from '../../src/crd-compat/index.ts';
import { preferredVersion } from '../../src/crd-compat/internal.ts';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster } from '../support/cluster.ts';
import { campaign, report } from './support/campaign.ts';
import { fluxCases, ownCases, randomCases, randomVersionCases, realCases } from './support/cases.ts';
import { classesOf, corpus, definition, type Pair } from './support/corpus/index.ts';
import { type Case, judge, prepare } from './support/judge.ts';
import { attemptAll } from './support/together.ts';
import { manifestBroken, type Outcome, storedBroken } from './support/trial.ts';

const randomPairCount = 64;
const randomVersionCount = 32;
/** Only to end what hangs: it takes a quarter of a minute on a quiet machine. */
const timeout = 600_000;
const tried = corpus.filter(({ server }) => server !== 'not-tried');

let client: Client;
beforeAll(() => {
  client = connect(loadKubeconfig({ file: sharedCluster().kubeconfig }));
});
afterAll(() => client.close());

describe('the corpus', () => {
  const outcomes = new Map<Pair, { outcome: Outcome; prepared: ReturnType<typeof prepare> }>();
  beforeAll(async () => {
    const prepared = tried.map((pair) => prepare(pair));
    const all = await attemptAll(
      client,
      prepared.map(({ attempt }, index) => ({
        ...attempt,
        objects: attempt.objects.map((object, place) => tried[index]?.objects[place] ?? object),
        updates: attempt.objects.map((_, place) => tried[index]?.updates?.[place] ?? attempt.updates?.[place]),
        requests: [...(attempt.requests ?? []), ...(tried[index]?.requests ?? [])],
      })),
    );
    for (const [index, pair] of tried.entries())
      outcomes.set(pair, { outcome: all[index] as Outcome, prepared: prepared[index] as ReturnType<typeof prepare> });
  }, timeout);

  test.each(tried)('$name: the API server does as expected', (pair) => {
    const { outcome } = outcomes.get(pair) as { outcome: Outcome };
    expect(outcome.notSetUp).toBeUndefined();
    if (pair.server === 'refused') {
      expect(outcome.changeRefused, pair.reason).toBeDefined();
      return;
    }
    expect(outcome.changeRefused).toBeUndefined();
    const seen = outcome.seen.slice(0, pair.objects.length);
    expect(seen.map(({ notValid }) => notValid)).toEqual(pair.objects.map(() => undefined));
    const answersDiffer = outcome.requests.some(({ before, after }) => before !== after);
    const broken = { stored: seen.some(storedBroken), manifests: seen.some(manifestBroken) || answersDiffer };
    for (const question of ['stored', 'manifests'] as const) {
      const expected = classesOf(pair[question]);
      const said = `${question}: ${pair.reason}: ${JSON.stringify(outcome)}`;
      if (expected.every((each) => each === 'safe')) expect(broken[question], said).toBe(false);
      if (expected.every((each) => each === 'breaking')) expect(broken[question], said).toBe(true);
    }
  });

  test('the verdicts hold, and every witness shows what it says', () => {
    const findings = [...outcomes].flatMap(([pair, { outcome, prepared }]) =>
      judge(prepared, outcome).map((finding) => ({ ...finding, case: pair })),
    );
    expect(report(findings)).toBe('');
  });
});

test(
  'random pairs: the verdicts hold, and every witness shows what it says',
  async () => {
    const { findings, tally } = await campaign(client, randomCases(20261116, randomPairCount));
    expect(report(findings)).toBe('');
    // That enough was tried to say something.
    expect(tally.safe).toBeGreaterThan(randomPairCount / 10);
    expect(tally.breaking).toBeGreaterThan(randomPairCount / 10);
    expect(tally.notTaken).toBeLessThan(randomPairCount / 4);
  },
  timeout,
);

test(
  'random versions without a conversion webhook: the verdicts hold, and every witness shows what it says',
  async () => {
    const { findings, tally } = await campaign(client, randomVersionCases(20261118, randomVersionCount));
    expect(report(findings)).toBe('');
    expect(tally.breaking).toBeGreaterThan(randomVersionCount / 10);
    expect(tally.witnesses).toBeGreaterThan(randomVersionCount / 4);
    expect(tally.notTaken).toBeLessThan(randomVersionCount / 4);
  },
  timeout,
);

test(
  'the preferred version is the one that the API server announces',
  async () => {
    const names = ['v1', 'v2', 'v10', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10'];
    const order: string[] = [];
    for (const left = new Set(names); left.size > 0; ) {
      const made = definition({ type: 'object' }, (spec) => {
        const [version] = spec.versions;
        spec.versions = [...left].map((name, index) => ({ ...version, name, storage: index === 0 }) as never);
      });
      const preferred = preferredVersion(made as unknown as Crd)?.name ?? '';
      order.push(preferred);
      left.delete(preferred);
    }
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const made = definition({ type: 'object' }, (spec) => {
      const [version] = spec.versions;
      spec.group = 'preferred.example.com';
      spec.versions = names.map((name, index) => ({ ...version, name, storage: index === 0 }) as never);
    });
    await client.request({ method: 'POST', path, body: made });
    try {
      const announced = await eventually(async () => {
        const { status, text } = await client.request({ method: 'GET', path: '/apis/preferred.example.com' });
        if (status !== 200) return false;
        const { versions, preferredVersion: first } = JSON.parse(text) as {
          versions: { version: string }[];
          preferredVersion: { version: string };
        };
        return (
          versions.length === names.length && { first: first.version, order: versions.map((each) => each.version) }
        );
      });
      expect(announced).toEqual({ first: order[0], order });
    } finally {
      await client.request({ method: 'DELETE', path: `${path}/widgets.preferred.example.com` });
    }
  },
  timeout,
);

describe('real pairs: the verdicts hold, and every witness shows what it says', () => {
  const held = async (cases: readonly Case[]) => {
    const { findings, tally } = await campaign(client, cases);
    expect(report(findings)).toBe('');
    expect(tally.notTaken).toBeLessThan(cases.length / 4);
    return tally;
  };

  test(
    'definitions of Flux, from what they were to what they are, and back',
    async () => {
      const programs = await ensureAssets(['source-controller', 'kustomize-controller']);
      const cases = fluxCases(Object.values(programs).map(fluxCrdsBeside));
      expect(cases.length).toBeGreaterThanOrEqual(12);
      expect((await held(cases)).breaking).toBeGreaterThan(0);
    },
    timeout,
  );

  test(
    'our own definitions, edited',
    async () => {
      const cases = ownCases(join(import.meta.dirname, '..', '..', 'crds'), 20261117);
      expect((await held(cases)).breaking).toBeGreaterThan(0);
    },
    timeout,
  );

  const { KIDP_CRD_PAIRS } = process.env;
  // More of them, for who has some: what comes with the project is tried each time, so that nothing is skipped here.
  if (KIDP_CRD_PAIRS !== undefined)
    test(
      'those of the directory that KIDP_CRD_PAIRS names',
      async () => void (await held(realCases(KIDP_CRD_PAIRS))),
      timeout,
    );
});
