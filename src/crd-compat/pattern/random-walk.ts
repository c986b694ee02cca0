/**
 * Texts that a pattern matches, found by random walks through its program. This finds texts even if the automaton is
 * too large to build; it never proves that there are none.
 */
import { Random } from '../random.ts';
import { type CodePoints, READABLE } from './characters.ts';
import type { Program } from './program.ts';

const WAYS = 60;
/** The largest number of instructions in one walk; most walks leave a loop earlier. */
const MOST_STEPS = 4_000;

/**
 * `randomWalk` yields the same texts for the same program. It ignores assertions, so the caller must match each text.
 */
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

/**
 * Returns the most readable character half of the time: repeated letters keep a text short to read, and different ones
 * make it more useful.
 */
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
