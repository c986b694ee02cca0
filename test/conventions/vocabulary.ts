/**
 * The words that this project no longer uses, each with the word of the field.
 *
 * `npm run vocabulary [PATH …]` lists every use, with the line and the replacement.
 */
import { read, trackedFiles } from './source.ts';

/** A phrase that must not come back, and what to write in its place. */
interface Phrase {
  readonly pattern: RegExp;
  readonly say: string;
}

/** One use of a phrase. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly phrase: string;
  readonly say: string;
  readonly text: string;
}

export const phrases: readonly Phrase[] = [
  { pattern: /\blet(s|ting)? (it |them |him |what is |one |all |anything |everything )?in\b/, say: 'admit, admitted' },
  { pattern: /\bturn(s|ed|ing)? away\b/, say: 'deny, denied' },
  {
    pattern: /\b(take|takes|took|taken|taking) (it |them |this |that |what \w+ \w+ )?back\b|\bway back\b|\bis back\b/,
    say: 'roll back, rollback, restore, undo',
  },
  { pattern: /\b(tell|tells|telling|told)\b/, say: 'list, show, print, report, log, notify' },
  { pattern: /\bmend(s|ed|ing)?\b/, say: 'fix, repair' },
  { pattern: /\banew\b/, say: 'again, re-evaluate, re-create' },
  { pattern: /\bfares?\b|\b(is|are|was|not) well\b(?!-)/, say: 'health, healthy, unhealthy' },
  { pattern: /\bwhat creates? (a )?pods?\b/, say: 'workload controllers' },
  { pattern: /\bprograms? of the control plane\b/, say: 'control-plane binaries' },
  { pattern: /\bonly plays?\b|\bplays the nodes\b/, say: 'simulated nodes (KWOK)' },
  { pattern: /\b(it|they|this) comes? again\b/, say: 'requeued, retried' },
  { pattern: /\bwhat is there\b/, say: 'existing objects' },
  { pattern: /\b(it|they|policy|rule|that|which|this) (is|are) about\b/, say: 'matches, selects' },
  { pattern: /\bwhat follows policies\b/, say: 'controllers, background controllers' },
  { pattern: /\bmissing: give it\b/, say: 'required, must be set' },
  { pattern: /\bby (itself|themselves)\b/, say: 'automatically' },
  { pattern: /\bgoes over\b/, say: 'takes precedence over' },
  // The exception is a message of the API server.
  { pattern: /\bmay not\b(?! mutate atomic)/, say: 'must not, cannot, might not' },
  { pattern: /\bthe version that one comes to\b/, say: 'target version' },
  { pattern: /\bwho leads\b/, say: 'leader' },
  { pattern: /\b(is|are|was|were) from before\b/, say: 'stale' },
  { pattern: /\bbehind (its|his|her|their|the) backs?\b/, say: 'drift' },
  { pattern: /\ball the same\b/, say: 'anyway, despite that' },
  { pattern: /\bsee to (it|them|that)\b/, say: 'ensure, remove it manually' },
  { pattern: /\b(this|the|a|each|every|another|other|own|which|of) (rooms?|house)\b/, say: 'module, package, project' },
  { pattern: /\b(kept?|keeps?|bring|brings|brought|is|are|back) in line\b(?! with)/, say: 'in sync, reconciled' },
  { pattern: /\b(bring on|look before|shelves|stroll)\b/, say: "the field's name" },
];

const isChecked = (file: string): boolean =>
  /\.(ts|mjs|js|md|ya?ml|json|go|sh)$/.test(file) &&
  !/^(test\/conventions\/vocabulary|package-lock)/.test(file) &&
  !/^test\/(cel|oracle)\/.*\.json$/.test(file);

/** `findingsIn` lists the uses of old phrases in text; identifiers are split into their words first. */
export function findingsIn(file: string, text: string): Finding[] {
  return text.split('\n').flatMap((line, at) => {
    // The changelog lists what was renamed.
    if (file === 'CHANGELOG.md' && line.includes(' → ')) return [];
    const words = line.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
    return phrases.flatMap(({ pattern, say }) => {
      const phrase = pattern.exec(words)?.[0];
      return phrase === undefined ? [] : [{ file, line: at + 1, phrase, say, text: line.trim() }];
    });
  });
}

/** `allFindings` reads every checked file of the repository: its name and its text. */
export function allFindings(paths: readonly string[] = ['']): Finding[] {
  return trackedFiles()
    .filter((file) => isChecked(file) && paths.some((path) => file.startsWith(path)))
    .flatMap((file) => [...findingsIn(file, file.replaceAll('-', ' ')), ...findingsIn(file, read(file))]);
}

if (process.argv[1] === import.meta.filename) {
  const paths = process.argv.slice(2);
  const findings = allFindings(paths.length === 0 ? [''] : paths);
  for (const { file, line, phrase, say, text } of findings)
    console.log(`${file}:${line}: "${phrase}" → ${say}\n    ${text.slice(0, 200)}`);
  console.log(`${findings.length} uses of old phrases`);
}
