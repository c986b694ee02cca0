/**
 * `node bench/crd/patterns.ts DIRECTORY` compares our pattern inclusion with refa, a library for regular languages over JavaScript syntax,
 * on the pairs that the unit tests use. DIRECTORY holds refa and its parser: `npm install --prefix DIRECTORY refa @eslint-community/regexpp`.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { patternIncludes } from '../../src/crd-compat/pattern/index.ts';
import { inclusions } from '../../src/crd-compat/pattern/support/inclusions.ts';

type Answer = 'yes' | 'no' | 'unknown';

const require = createRequire(join(process.argv[2] ?? '.', 'package.json'));
const { DFA, isDisjointWith, JS, NFA, Transformers, transform } = require('refa');

/** Patterns are searched for, so text may stand before and after one that is not anchored. refa has no automaton for anchors. */
function automaton(pattern: string): unknown {
  const [, begin, body = '', end] = /^(\^|\\A)?(.*?)(\$|\\z)?$/.exec(pattern) ?? [];
  const source = `${begin === undefined ? '[^]*' : ''}(?:${body})${end === undefined ? '[^]*' : ''}`;
  const { expression, maxCharacter } = JS.Parser.fromLiteral({ source, flags: 'u' }).parse({ assertions: 'parse' });
  const applied = transform(Transformers.applyAssertions(), expression);
  return NFA.fromRegex(applied, { maxCharacter }, { assertions: 'throw' });
}

function refaIncludes(wide: string, narrow: string): { answer: Answer; reason?: string } {
  try {
    const complement = DFA.fromFA(automaton(wide));
    complement.complement();
    return { answer: isDisjointWith(automaton(narrow), complement) ? 'yes' : 'no' };
  } catch (error) {
    return { answer: 'unknown', reason: (error as Error).message.split('\n')[0] ?? '' };
  }
}

function measure(name: string, includes: (wide: string, narrow: string) => { answer: Answer; reason?: string }): void {
  const counts = { right: 0, undecided: 0, wrong: 0 };
  const notes: string[] = [];
  const began = performance.now();
  for (const { wide, narrow, answer } of inclusions) {
    const found = includes(wide, narrow);
    if (found.answer === answer) counts.right += 1;
    else if (found.answer === 'unknown') counts.undecided += 1;
    else counts.wrong += 1;
    if (found.answer !== answer)
      notes.push(`  ${narrow} in ${wide}: ${found.answer}, want ${answer} ${found.reason ?? ''}`);
  }
  const milliseconds = performance.now() - began;
  console.log(
    `${name}: ${counts.right} right, ${counts.undecided} undecided, ${counts.wrong} wrong of ${inclusions.length}, ${milliseconds.toFixed(0)} ms`,
  );
  for (const note of notes) console.log(note.slice(0, 160));
}

measure('ours', patternIncludes);
measure('refa', refaIncludes);
