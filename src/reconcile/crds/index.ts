/**
 * What follows CustomResourceDefinitions: every version that was stored is kept as a CRDRevision, and what the decisions over an
 * Approval come to stands in its status.
 *
 * In: a manager. Out: CRDRevisions, at most so many a definition, and the status of Approvals. The leader alone writes. It must not
 * know how definitions compare.
 */
import type { Manager } from '../../runtime/index.ts';
import { addApprovalReconciler } from './approvals.ts';
import { RevisionKeeper, type RevisionOptions } from './revisions.ts';

export { defaultKeptRevisions, type RevisionOptions } from './revisions.ts';

export function addCrdReconcilers(manager: Manager, options: RevisionOptions): void {
  addApprovalReconciler(manager);
  if (options.kept > 0) manager.add(new RevisionKeeper(manager, options));
}
