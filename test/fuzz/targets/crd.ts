import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { compareCrds, readCrd, refusedParts } from '../../../src/crd-compat/index.ts';
import { corpus } from '../../crd-compat/support/corpus/index.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const folder = join(import.meta.dirname, '..', '..', '..', 'examples', 'quickstart', 'crd');

export const target: Target = {
  about: 'CRDs: read one and compare it with itself, or two with each other',
  modules: ['src/crd-compat/'],
  words: [
    'properties',
    'additionalProperties',
    'items',
    'required',
    'enum',
    'default',
    'nullable',
    'pattern',
    'format',
    'minimum',
    'maxLength',
    'x-kubernetes-preserve-unknown-fields',
    'x-kubernetes-int-or-string',
    'x-kubernetes-embedded-resource',
    'x-kubernetes-validations',
    'x-kubernetes-list-type',
    'x-kubernetes-list-map-keys',
    'oneOf',
    'anyOf',
    'not',
    '$ref',
    '__proto__',
    'constructor',
    'self == oldSelf',
    'string',
    'integer',
    'number',
    'object',
    'array',
    'boolean',
    'v2',
    'v1beta1',
  ],
  isJson: true,
  mostBytes: 16_384,
  seeds: () => [
    ...readdirSync(folder).map((file) =>
      JSON.stringify(parse(readFileSync(join(folder, file), 'utf8').split('\n---\n')[0] ?? '')),
    ),
    // A fifth of the pairs that are confirmed on a real API server: they reach nearly all that the others do.
    ...corpus.filter((_, at) => at % 5 === 0).map(({ before, after }) => JSON.stringify([before, after])),
  ],
  run(input) {
    let value: unknown;
    try {
      value = JSON.parse(input.toString('utf8'));
    } catch {
      return;
    }
    const [before, after] = (Array.isArray(value) ? value : [value]).slice(0, 2).map((each) => {
      const { crd, issues } = readCrd(each);
      ensure(crd === undefined || issues.length === 0, 'a definition that was read has no issues');
      ensure(
        issues.every(({ path, message, next }) => typeof path === 'string' && message !== '' && next !== ''),
        'an issue says where it is and what to do',
      );
      return crd;
    });
    for (const crd of [before, after]) {
      if (crd === undefined) continue;
      const { verdict, changes } = compareCrds(crd, crd);
      ensure(verdict === 'safe' && changes.length === 0, 'a definition is compatible with itself', () =>
        JSON.stringify(changes),
      );
      ensure(refusedParts(crd, crd).length === 0, 'what has not changed is not refused');
      refusedParts(undefined, crd);
    }
    if (before === undefined || after === undefined) return;
    const shown = compareCrds(before, after);
    const bare = compareCrds(before, after, { witnesses: false });
    ensure(shown.verdict === bare.verdict, 'witnesses do not change the verdict');
    ensure(
      shown.changes.every(({ path, message }) => typeof path === 'string' && message !== ''),
      'a change has a path and a message',
    );
  },
};
