/**
 * Formats a report as JSON: `{verdict, changes}` for one definition; for several, a list with their names, and with their files if a
 * name is ambiguous.
 */
import type { Change } from '../../../crd-compat/index.ts';
import { type Compared, classOf } from '../compare.ts';
import type { CrdReport } from './format.ts';

export const asJson = (report: CrdReport): string => `${JSON.stringify(shown(report), null, 2)}\n`;

export function shown({ compared }: CrdReport): unknown {
  const [only] = compared;
  if (compared.length === 1 && only !== undefined) return verdictOf(only);
  return compared.map((each) => ({
    name: each.name,
    ...(each.file === undefined ? {} : { file: each.file }),
    ...verdictOf(each),
  }));
}

function verdictOf(compared: Compared) {
  return {
    verdict: classOf(compared),
    changes: compared.verdict.changes.map(changeOf),
    ...(compared.objects === undefined ? {} : { objects: compared.objects }),
  };
}

/** `changeOf` sets every field, null if it has no value, so that programs need not check which fields exist. */
function changeOf({ before = null, after = null, witness, ...change }: Change) {
  const { version, path, kind, storedObjects, manifests, message, hits, advice, decidedBy } = change;
  return {
    version,
    path,
    kind,
    class: change.class,
    before,
    after,
    storedObjects,
    manifests,
    message,
    hits,
    advice,
    decidedBy,
    witness: witness ?? null,
  };
}
