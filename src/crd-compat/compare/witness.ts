/** From drafts to changes: looks for an object that shows each, and settles the class by whether there is one. */
import { type Change, worse } from '../verdict.ts';
import { adviceFor } from './advice.ts';
import type { Draft } from './draft.ts';

export function settle(drafts: readonly Draft[]): Change[] {
  return drafts.map((draft) => changeOf(draft));
}

function changeOf(draft: Draft): Change {
  const { version, path, kind, storedObjects, manifests, message } = draft;
  const harmless = storedObjects === 'safe' && manifests === 'safe';
  return {
    version,
    path,
    kind,
    class: worse(storedObjects, manifests),
    ...(draft.before === undefined ? {} : { before: draft.before }),
    ...(draft.after === undefined ? {} : { after: draft.after }),
    storedObjects,
    manifests,
    message,
    hits: harmless ? '' : (draft.hits ?? ''),
    advice: harmless ? '' : (draft.advice ?? adviceFor(kind)),
    decidedBy: draft.decidedBy ?? 'acceptance',
    ...(draft.witness === undefined ? {} : { witness: draft.witness }),
  };
}
