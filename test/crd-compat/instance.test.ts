/**
 * The API server itself says whether our validator, pruning and defaulting are right: random schemas, random values, on a create and on
 * an update of what was stored before the schema came. `KIDP_ROUNDS` asks for more of them, `KIDP_SEED` for others.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CrdSchema, Json } from '../../src/crd-compat/index.ts';
import { applyDefaults, prune, samples, validator } from '../../src/crd-compat/instance/index.ts';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { sharedCluster } from '../support/cluster.ts';
import { schemas, valuesFor } from './support/instance/schemas.ts';
import { Stage } from './support/instance/stage.ts';

const { KIDP_ROUNDS = '1' } = process.env;
const rounds = Array.from({ length: Number(KIDP_ROUNDS) }, (_, index) => index);
const SCHEMAS = 60;
const VALUES = 10;

let client: Client;
beforeAll(() => {
  client = connect(loadKubeconfig({ file: sharedCluster().kubeconfig }));
});
afterAll(() => client.close());

interface Case {
  readonly field: string;
  readonly schema: CrdSchema;
  readonly values: readonly unknown[];
}

/** The same in every run: the seed of the whole run, and the round. */
function cases(round: number): readonly Case[] {
  const seed = (fc.readConfigureGlobal().seed ?? 1) + round;
  return fc.sample(schemas, { seed, numRuns: SCHEMAS }).map((schema, index) => {
    const some = fc.sample(valuesFor(schema), { seed: seed + index, numRuns: VALUES });
    return { field: `case${index}`, schema, values: [...some, ...samples(schema, { seed: seed + index, count: 4 })] };
  });
}

const fieldsOf = (all: readonly Case[]): Readonly<Record<string, CrdSchema>> =>
  Object.fromEntries(all.map(({ field, schema }) => [field, schema]));

const specOf = (object: Json): unknown => object.spec ?? null;
const text = (value: unknown): string => JSON.stringify(value);
const inTurn = async <T>(list: readonly T[], act: (each: T) => Promise<void>): Promise<void> => {
  for (let at = 0; at < list.length; at += 24) await Promise.all(list.slice(at, at + 24).map(act));
};

describe.each(rounds)('round %i', (round) => {
  test('what is created is accepted, refused, pruned and defaulted as we say', async () => {
    const stage = new Stage(client);
    const all = cases(round);
    const left = await stage.serve(fieldsOf(all));
    expect(left.length, left.join('\n')).toBeLessThan(SCHEMAS / 4);
    const { schema } = stage;
    const judge = validator(schema);
    const differences: string[] = [];
    let accepted = 0;
    let refused = 0;
    const known = schema.properties?.spec?.properties ?? {};
    const tries = all.flatMap(({ field, values }) =>
      Object.hasOwn(known, field) ? values.map((value) => ({ field, value })) : [],
    );
    await inTurn(tries, async ({ field, value }) => {
      const spec = { [field]: value };
      const answer = await stage.create('a', spec);
      const stored = applyDefaults(prune(stage.object('a', spec), schema).value, schema) as Json;
      const faults = judge.validate(stored);
      if (answer.accepted) accepted++;
      else refused++;
      const about = `${text(known[field])}\n  value ${text(value)}\n`;
      if (answer.accepted !== (faults.length === 0)) {
        differences.push(`${about}  server: ${answer.accepted ? 'accepted' : answer.message}\n  ours: ${text(faults)}`);
      } else if (answer.accepted && text(sorted(specOf(answer.object))) !== text(sorted(specOf(stored)))) {
        differences.push(`${about}  server: ${text(answer.object.spec)}\n  ours: ${text(stored.spec)}`);
      }
    });
    await stage.close();
    expect(differences, differences.join('\n\n')).toEqual([]);
    // Both answers are tried.
    expect(accepted).toBeGreaterThan(tries.length / 8);
    expect(refused).toBeGreaterThan(tries.length / 8);
  });

  test('what is updated is excused and compared with what was before as we say', async () => {
    const stage = new Stage(client);
    const all = cases(1000 + round).slice(0, SCHEMAS / 2);
    const open: CrdSchema = { 'x-kubernetes-preserve-unknown-fields': true, nullable: true };
    await stage.serve(Object.fromEntries(all.map(({ field }) => [field, open])));
    const pairs = all.flatMap(({ field, values }) =>
      values.slice(0, 8).map((old, index) => ({ field, old, values, index })),
    );
    await inTurn(pairs, async ({ field, old, index }) => {
      const stored = await stage.store(`${field}-${index}`, { [field]: old });
      if (!stored.accepted) throw new Error(stored.message);
    });
    await stage.serve(fieldsOf(all));
    const { schema } = stage;
    const judge = validator(schema);
    const known = schema.properties?.spec?.properties ?? {};
    const differences: string[] = [];
    let accepted = 0;
    let refused = 0;
    await inTurn(pairs, async ({ field, old, values, index }) => {
      if (!Object.hasOwn(known, field)) return;
      const name = `${field}-${index}`;
      const before = await stage.read(name);
      const stored = prune(stage.object(name, { [field]: old }), schema, { stored: true });
      if ((before === undefined) !== stored.unreadable.length > 0)
        differences.push(`${text(known[field])} ${text(old)} cannot be read`);
      if (before === undefined) return;
      const expected = applyDefaults(stored.value, schema) as Json;
      if (text(sorted(specOf(before))) !== text(sorted(specOf(expected)))) {
        differences.push(`${text(known[field])}\n  read ${text(before.spec)}\n  ours ${text(expected.spec)}`);
      }
      for (const value of [
        old,
        values[(index + 1) % values.length],
        ...neighbours(old, values[(index + 3) % values.length]),
      ]) {
        const manifest = { ...before, spec: { [field]: value } };
        const answer = await stage.update(name, manifest);
        const after = applyDefaults(prune(manifest, schema).value, schema) as Json;
        const faults = judge.validate(after, before);
        if (answer.accepted) accepted++;
        else refused++;
        if (answer.accepted !== (faults.length === 0)) {
          differences.push(
            `${text(known[field])}\n  old ${text(before.spec)}\n  new ${text(after.spec)}\n  server: ${answer.accepted ? 'accepted' : answer.message}\n  ours: ${text(faults)}`,
          );
        }
      }
    });
    await stage.close();
    expect(differences, differences.join('\n\n')).toEqual([]);
    expect(accepted).toBeGreaterThan(pairs.length / 8);
    expect(refused).toBeGreaterThan(pairs.length / 8);
  });
});

/** The old value with one part taken from another: what most updates are. */
function neighbours(old: unknown, other: unknown): readonly unknown[] {
  if (Array.isArray(old)) return [[...old, ...(Array.isArray(other) ? other.slice(0, 1) : [])], old.slice().reverse()];
  if (typeof old !== 'object' || old === null || typeof other !== 'object' || other === null) return [];
  const keys = Object.keys(other);
  const names = Object.keys(old);
  const changed = keys.length === 0 ? old : { ...old, [keys[0] as string]: (other as Json)[keys[0] as string] };
  const without = Object.fromEntries(Object.entries(old).filter(([key]) => key !== names[0]));
  return [changed, without];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted((value as Json)[key])]),
  );
}
