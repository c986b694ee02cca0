/**
 * Texts that a pattern matches, spelt on random ways through its program. Where the automaton of a pattern is too large to be made, this
 * still finds some of its texts; it never shows that there are none.
 */
import { Random } from '../random.ts';
import { type CodePoints, READABLE } from './characters.ts';
import type { Program } from './program.ts';

const WAYS = 60;
/** Instructions of one way: a pattern that loops is left by chance, and rarely late. */
const MOST_STEPS = 4_000;

/** The same for the same program. Assertions are not looked at: what is found has to be matched before it is believed. */
export function* randomWalk({ instructions, start }: Program): Generator<string> {
  const random = new Random(instructions.length);
  for (let way = 0; way < WAYS; way++) {
    let text = '';
    let at = start;
    for (let step = 0; step < MOST_STEPS; step++) {
      const instruction = instructions[at];
      if (instruction === undefined || instruction.kind === 'fail') break;
      if (instruction.kind === 'match') {
        yield text;
        break;
      }
      if (instruction.kind === 'split') at = instruction.to[random.below(instruction.to.length)] as number;
      else at = instruction.to;
      if (instruction.kind === 'character') text += characterOf(instruction.set, random);
    }
  }
}

/** The most readable one every other time: a text of one letter is short to read, and one of many shows more. */
function characterOf(set: CodePoints, random: Random): string {
  const readable = READABLE.filter((each) => isIn(set, each));
  const found = readable[random.below(2) === 0 ? 0 : random.below(readable.length)] ?? set[0] ?? 0;
  return String.fromCodePoint(found);
}

function isIn(set: CodePoints, codePoint: number): boolean {
  for (let at = 0; at < set.length; at += 2)
    if (codePoint >= (set[at] as number) && codePoint <= (set[at + 1] as number)) return true;
  return false;
}
