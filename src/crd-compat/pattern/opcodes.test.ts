/** The opcodes of RE2JS are private. This test fails if a new version numbers or shapes them differently. */
import { expect, test } from 'vitest';
import { ANY, NOT_NEWLINE } from './characters.ts';
import { Condition, type Instruction, PatternError, programOf } from './program.ts';

const advice =
  're2js compiles patterns differently than 2.10.0: compare its class Inst with src/crd-compat/pattern/program.ts (docs/decisions/0026)';

/** The reachable instructions, without their targets and without jumps to the next instruction. */
function reachable(pattern: string): readonly object[] {
  const program = programOf(pattern);
  if (program instanceof PatternError) throw new Error(`${advice}: ${program.message}`);
  const seen = new Set<number>();
  const found: Instruction[] = [];
  const visit = (at: number): void => {
    const instruction = program.instructions[at];
    if (instruction === undefined || seen.has(at)) return;
    seen.add(at);
    found.push(instruction);
    if ('to' in instruction) for (const to of [instruction.to].flat()) visit(to);
  };
  visit(program.start);
  return found
    .filter((each) => each.kind !== 'split' || each.to.length > 1)
    .map((each) => ({
      kind: each.kind,
      ...(each.kind === 'character' ? { set: [...each.set] } : {}),
      ...(each.kind === 'assert' ? { conditions: each.conditions } : {}),
      ...(each.kind === 'split' ? { ways: each.to.length } : {}),
    }));
}

const character = (...set: number[]) => ({ kind: 'character', set });
const assertion = (conditions: number) => ({ kind: 'assert', conditions });
const match = { kind: 'match' };
const split = { kind: 'split', ways: 2 };

test.each([
  { reason: 'RUNE1', pattern: 'a', instructions: [character(97, 97), match] },
  { reason: 'RUNE with ranges', pattern: '[a-cx]', instructions: [character(97, 99, 120, 120), match] },
  {
    reason: 'FOLD_CASE',
    pattern: '(?i)k',
    instructions: [character(75, 75, 107, 107, 0x212a, 0x212a), match],
  },
  { reason: 'RUNE_ANY', pattern: '(?s).', instructions: [character(...ANY), match] },
  { reason: 'RUNE_ANY_NOT_NL', pattern: '.', instructions: [character(...NOT_NEWLINE), match] },
  { reason: 'CAPTURE', pattern: '(a)', instructions: [character(97, 97), match] },
  { reason: 'ALT', pattern: 'a*', instructions: [split, character(97, 97), match] },
  { reason: 'FAIL', pattern: '[^\\x00-\\x{10FFFF}]', instructions: [{ kind: 'fail' }] },
  { reason: 'EMPTY_WIDTH, start of text', pattern: '^', instructions: [assertion(Condition.beginText), match] },
  { reason: 'EMPTY_WIDTH, end of text', pattern: '$', instructions: [assertion(Condition.endText), match] },
  { reason: 'EMPTY_WIDTH, start of line', pattern: '(?m)^', instructions: [assertion(Condition.beginLine), match] },
  { reason: 'EMPTY_WIDTH, end of line', pattern: '(?m)$', instructions: [assertion(Condition.endLine), match] },
  { reason: 'EMPTY_WIDTH, word boundary', pattern: '\\b', instructions: [assertion(Condition.wordBoundary), match] },
  { reason: 'EMPTY_WIDTH, no boundary', pattern: '\\B', instructions: [assertion(Condition.noWordBoundary), match] },
])('the program of RE2JS is read correctly: $reason', ({ pattern, instructions }) => {
  expect(reachable(pattern), advice).toEqual(instructions);
});
