/** A value that was accepted and that a new rule refuses: looked for among values around what the rules compare with. */
import { applyDefaults, prune, type Validator, validator } from '../instance/index.ts';
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type Choose, candidates } from './candidates.ts';
import type { CompiledRule } from './compiled.ts';
import { literalsOf } from './literals.ts';
import { without } from './without.ts';

const MAX_IN_ORDER = 1_000;
const MAX_AT_RANDOM = 1_500;

export function refusedBy(
  rule: CompiledRule,
  premises: readonly CompiledRule[],
  old: { readonly rules: readonly ValidationRule[]; readonly schema: CrdSchema },
  schema: CrdSchema,
): { readonly value: unknown } | undefined {
  const draw = candidates(old.schema, schema, literalsOf([rule, ...premises]));
  const resource = [rule, ...premises].some((each) => each.resource);
  // Only values that the rule refuses are validated: there may be none, and a schema may be large.
  let validators: { readonly before: Validator; readonly after: Validator } | undefined;
  const seen = new Set<string>();
  for (const choose of choices()) {
    const drawn = draw(choose);
    if (drawn === undefined) continue;
    const text = JSON.stringify(drawn);
    if (seen.has(text)) continue;
    seen.add(text);
    const value = resource ? named(drawn) : drawn;
    const now = applyDefaults(prune(value, schema, { resource }).value, schema);
    if (rule.holds(now)) continue;
    validators ??= {
      before: validator({ ...old.schema, 'x-kubernetes-validations': old.rules }, { resource }),
      // What the new schema or another new rule refuses, this rule is not to blame for.
      after: validator(without(schema, 'x-kubernetes-validations'), { resource }),
    };
    if (validators.before.validate(applyDefaults(value, old.schema)).length > 0) continue;
    if (validators.after.validate(now).length === 0) return { value };
  }
  return undefined;
}

/** A whole resource has a type and a name. */
function named(value: unknown): unknown {
  const { metadata, ...rest } = value as Readonly<Record<string, unknown>>;
  const known = typeof metadata === 'object' ? metadata : {};
  return { apiVersion: 'example.com/v1', kind: 'Example', metadata: { name: 'example', ...known }, ...rest };
}

/** All sequences of choices in order, as far as that goes; after that, where there are more, some at random, the same each time. */
function* choices(): Generator<Choose> {
  let path: { taken: number; count: number }[] = [];
  for (let turn = 0; turn < MAX_IN_ORDER; turn++) {
    let at = 0;
    yield (count) => {
      if (count <= 1) return 0;
      const step = path[at] ?? { taken: 0, count };
      path[at++] = step;
      return step.taken;
    };
    path = path.slice(0, at);
    while (path.length > 0 && (path.at(-1)?.taken ?? 0) + 1 >= (path.at(-1)?.count ?? 0)) path.pop();
    const last = path.at(-1);
    if (last === undefined) return;
    last.taken++;
  }
  let state = 0x2545f491;
  for (let turn = 0; turn < MAX_AT_RANDOM; turn++) {
    yield (count) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * count);
    };
  }
}
