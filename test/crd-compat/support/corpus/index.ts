/** Every pair of the corpus, and the rows that it is made of. */
import { bounds } from './bounds.ts';
import { definitionPairs, wholeSchemaPairs } from './definitions.ts';
import { extensions } from './extensions.ts';
import { fields } from './fields.ts';
import { type Pair, type Place, pairsOf, places, type SchemaRow } from './shape.ts';
import { transitionPairs } from './transitions.ts';
import { values } from './values.ts';
import { versionPairs } from './versions.ts';

export * from './shape.ts';

export const schemaRows: readonly SchemaRow[] = [...fields, ...values, ...bounds, ...extensions];

export const corpus: readonly Pair[] = [
  ...schemaRows.flatMap((row) => pairsOf(row, places[0] as Place)),
  ...definitionPairs,
  ...wholeSchemaPairs,
  ...transitionPairs,
  ...versionPairs,
];
