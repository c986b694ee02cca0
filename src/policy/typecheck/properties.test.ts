/** Ways through real schemas: whatever a schema has is let through, and one wrong name on the way is found. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SchemaTypes } from '../../cel/index.ts';
import { readPolicy } from '../load/index.ts';
import { combineSchemas, kubernetesSchemas, platformSchemas, typeCheck } from './index.ts';
import { typesOf } from './matched.ts';

const schemas = combineSchemas(platformSchemas(), kubernetesSchemas());
const kinds = schemas.kinds().filter(({ kind }) => !/Review$|^Event$|^Binding$/.test(kind));

interface Way {
  readonly type: string;
  readonly expression: string;
}

/**
 * `choices` pick a field at each step; a list is gone through with `all`, a map with a key. `mangle` makes one name
 * wrong.
 */
function wayThrough(
  kindIndex: number,
  choices: readonly number[],
  mangle?: number,
): Way & { readonly wrong: string | undefined } {
  const { group, version, kind } = kinds[kindIndex % kinds.length] as (typeof kinds)[number];
  const apiVersion = group === '' ? version : `${group}/${version}`;
  let node = (typesOf(apiVersion, kind, schemas) as SchemaTypes).root;
  let base = 'object';
  let wrong: string | undefined;
  let [before, after] = ['', ''];
  let expression = 'true';
  for (const [step, choice] of choices.entries()) {
    const names = Object.keys(node.schema.properties ?? {}).filter((name) => /^[a-z]\w*$/i.test(name));
    if (names.length === 0) break;
    const name = names[choice % names.length] as string;
    if (step === mangle) {
      wrong = `${name}Zz`;
      return {
        type: `${group === '' ? 'core' : group}/${version}/${kind}`,
        expression: `${before}has(${base}.${wrong})${after}`,
        wrong,
      };
    }
    expression = `${before}has(${base}.${name})${after}`;
    const next = node.field(name);
    if (next === undefined) break;
    node = next;
    base = `${base}.${name}`;
    if (node.schema.type === 'array' && node.element !== undefined) {
      before += `${base}.all(e${step}, `;
      after = `)${after}`;
      base = `e${step}`;
      node = node.element;
    } else if (typeof node.schema.additionalProperties === 'object' && node.element !== undefined) {
      base = `${base}["k"]`;
      node = node.element;
    }
  }
  return { type: `${group === '' ? 'core' : group}/${version}/${kind}`, expression, wrong };
}

function issuesOf({ type, expression }: Way) {
  const { model } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: { selector: { resourceTypes: [type] }, rules: [{ name: 'r', expression }] },
  });
  return typeCheck(model as NonNullable<typeof model>, schemas).filter(({ code }) => code !== 'expensive');
}

const choices = fc.array(fc.nat(), { minLength: 1, maxLength: 8 });

test('every path through a schema is accepted', () => {
  fc.assert(
    fc.property(fc.nat(), choices, (kind, steps) => {
      const way = wayThrough(kind, steps);
      expect(issuesOf(way), way.expression).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test('a wrong name in a path is an error at its position', () => {
  fc.assert(
    fc.property(fc.nat(), choices, fc.nat(7), (kind, steps, mangle) => {
      const way = wayThrough(kind, steps, mangle);
      if (way.wrong === undefined) return;
      const issues = issuesOf(way);
      expect(issues, way.expression).toMatchObject([{ severity: 'error', code: 'no_such_field', line: 1 }]);
      expect(issues[0]?.message).toContain(`'${way.wrong}'`);
      const { column = 0 } = issues[0] ?? {};
      expect(way.expression.slice(column - 1, column + way.expression.length)).toContain(way.wrong);
    }),
    { numRuns: 500 },
  );
});
