/** Our side: from the text of two files to a verdict as JSON, as `kidp crd diff -o json` has it. */
import { parseObjects } from '../../src/cli/documents/index.ts';
import { type Crd, compareCrds, readCrd } from '../../src/crd-compat/index.ts';

export function compareTexts(before: string, after: string): string {
  return JSON.stringify(compareCrds(read(before), read(after)));
}

export function read(text: string): Crd {
  const [found] = parseObjects(text, 'definition.yaml');
  const { crd, issues } = readCrd(found?.object);
  if (crd === undefined) throw new Error(issues.map(({ message }) => message).join('; '));
  return crd;
}
