/**
 * Controllers for CustomResourceDefinitions: keep every stored version as a CRDRevision, and summarize Approvals in
 * their status.
 *
 * In: a manager. Out: CRDRevisions, limited per definition, and the status of Approvals. Only the leader writes. It
 * must not know how definitions are compared.
 */
import type { Manager } from '../../runtime/index.ts';
import { addApprovalReconciler } from './approvals.ts';
import { RevisionKeeper, type RevisionOptions } from './revisions.ts';

export { defaultKeptRevisions, type RevisionOptions } from './revisions.ts';

export function addCrdReconcilers(manager: Manager, options: RevisionOptions): void {
  addApprovalReconciler(manager);
  if (options.kept > 0) manager.add(new RevisionKeeper(manager, options));
}
