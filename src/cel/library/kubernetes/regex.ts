/** The functions find and findAll of Kubernetes. */
import { sizeOf } from '../../cost/size.ts';
import type { CallValidator, Library } from '../../declarations.ts';
import { fn, member, type RuntimeCost, type StaticCost } from '../../declarations.ts';
import { INT, list, STRING } from '../../types.ts';
import { CelError } from '../../values.ts';
import { add, estimate, multiply, ONE, range, scale, sizeOfNode } from '../estimate.ts';
import { matchSpans, regularExpression } from '../regular-expression.ts';

/** `matchCost` is the cost of an RE2 match: text size times pattern size, with four characters per state. */
export const matchCost = (textSize: number, patternSize: number): number =>
  Math.ceil((1 + textSize) * 0.1) * Math.ceil(patternSize * 0.25);

const cost: RuntimeCost = ([text, pattern]) => matchCost(sizeOf(text ?? null), sizeOf(pattern ?? null));

const estimateCost: StaticCost = (target, [pattern]) => {
  const size = sizeOfNode(target);
  const search = multiply(scale(add(size, ONE), 0.1), scale(sizeOfNode(pattern), 0.25));
  // In the worst case every character is a match of its own.
  return estimate(search, range(0, size.max));
};

const costs = { cost, estimate: estimateCost };

/** Kubernetes compiles a literal pattern at compile time: an invalid one rejects the expression. */
const patternValidator = (name: 'find' | 'findAll'): CallValidator => ({
  function: name,
  member: true,
  validate(call) {
    const pattern = call.args[0];
    if (pattern?.kind !== 'literal' || typeof pattern.value !== 'string') return undefined;
    const compiled = regularExpression(pattern.value);
    return compiled instanceof CelError ? { node: pattern, message: compiled.message } : undefined;
  },
});

export const regex: Library = {
  name: 'kubernetes.regex',
  validators: [patternValidator('find'), patternValidator('findAll')],
  functions: [
    fn('find', [
      member(
        'string_find_string',
        [STRING, STRING],
        STRING,
        (text: string, pattern: string) => {
          const found = find(text, pattern, 1);
          return found instanceof CelError ? found : (found[0] ?? '');
        },
        costs,
      ),
    ]),
    fn('findAll', [
      member(
        'string_find_all_string',
        [STRING, STRING],
        list(STRING),
        (text: string, pattern: string) => find(text, pattern, -1),
        costs,
      ),
      member(
        'string_find_all_string_int',
        [STRING, STRING, INT],
        list(STRING),
        (text: string, pattern: string, limit: number | bigint) => find(text, pattern, Number(limit)),
        costs,
      ),
    ]),
  ],
};

function find(text: string, pattern: string, limit: number): readonly string[] | CelError {
  const expression = regularExpression(pattern);
  if (expression instanceof CelError) return new CelError('invalid_argument', `Illegal regex: ${expression.message}`);
  return matchSpans(expression, text, limit).map((spans) => text.slice(spans[0]?.[0], spans[0]?.[1]));
}
