/**
 * Finds the permission for a breaking change: an Approval of exactly this change or, outside of production, an
 * annotation that names exactly this change, set by a user with the required verb. Neither applies to the next change.
 */

import { type Approval, approval, approvalOutcome, GROUP } from '../../../api/index.ts';
import type { AskAuthorizer } from '../../../policy/index.ts';
import { type Client, eachObject } from '../../../runtime/index.ts';
import { plainName } from '../../../runtime/internal.ts';
import type { AdmissionRequest } from '../../review/decode.ts';
import { lookupFailure } from '../lookup-failure.ts';
import { annotationOf, definitionGroup, definitionKind, definitionPlural } from './definition.ts';
import { lastStored } from './previous-revision.ts';

export const ALLOW_BREAKING = `${GROUP}/allow-breaking`;
export const allowBreakingVerb = 'allow-breaking';

/** The environment of the cluster. In production, the annotation has no effect. */
export type Environment = 'production' | 'staging' | 'dev';

interface PermissionQuestion {
  readonly request: AdmissionRequest;
  readonly name: string;
  readonly uid: string;
  /** The digest of the change. */
  readonly digest: string;
  readonly client: Client | undefined;
  readonly ask: AskAuthorizer;
  readonly environment: Environment;
  readonly signal: AbortSignal;
}

export interface Permission {
  /** The permission: `Approval widgets-2`, `the annotation of ada`. Undefined if there is none. */
  readonly by: string | undefined;
  /** Approvals and annotations that do not apply, with the reason. */
  readonly notes: readonly string[];
}

export async function permissionFor(question: PermissionQuestion): Promise<Permission> {
  const approved = await byApproval(question);
  if (approved.by !== undefined) return approved;
  const annotated = await byAnnotation(question);
  return { by: annotated.by, notes: [...approved.notes, ...annotated.notes] };
}

async function byApproval({ request, client, name, uid, digest, signal }: PermissionQuestion): Promise<Permission> {
  if (client === undefined) return { by: undefined, notes: [] };
  const notes: string[] = [];
  const approved: Approval['metadata'][] = [];
  let rejected = false;
  const look = (object: unknown) => {
    const { metadata, spec } = object as Approval;
    const { subject } = spec;
    if (subject.kind !== definitionKind || subject.name !== name || subject.digest !== digest) return;
    if (subject.uid !== uid) {
      notes.push(`Approval ${metadata.name} is for an earlier definition with this name (another UID)`);
      return;
    }
    switch (approvalOutcome({ spec })) {
      case 'Approved':
        approved.push(metadata);
        break;
      case 'Rejected':
        rejected = true;
        notes.push(`Approval ${metadata.name} was rejected`);
        break;
      case 'Pending':
        notes.push(`Approval ${metadata.name} is pending`);
    }
  };
  let by: string | undefined;
  try {
    await eachObject(client, approval.resource, { signal }, look);
    // An Approval admits one change: not the same one again, after the definition was changed back.
    const stored =
      approved.length === 0 ? undefined : await lastStored(client, { name, uid, spec: request.object?.spec }, signal);
    for (const { name: found, creationTimestamp = '' } of approved) {
      if (stored === undefined || stored < creationTimestamp) by ??= `Approval ${found}`;
      else notes.push(`Approval ${found} was used: the change was made at ${stored}; create another Approval`);
    }
  } catch (error) {
    if (signal.aborted) throw error;
    notes.push(`Approvals could not be read: ${lookupFailure(error)}`);
  }
  // A rejected request must not be approved by another user who does not know of the rejection.
  return { by: rejected ? undefined : by, notes };
}

async function byAnnotation(question: PermissionQuestion): Promise<Permission> {
  const { request, digest, environment, name, ask } = question;
  const written = annotationOf(request.object, ALLOW_BREAKING);
  const no = (note: string): Permission => ({ by: undefined, notes: [note] });
  if (written === undefined) return { by: undefined, notes: [] };
  if (environment === 'production')
    return no(`the annotation ${ALLOW_BREAKING} has no effect because kidp runs with --environment production`);
  if (written.trim() !== digest) return no(`the annotation ${ALLOW_BREAKING} names a different change`);
  const [answer] = await ask([
    {
      kind: 'resource',
      subject: 'requester',
      verb: allowBreakingVerb,
      group: definitionGroup,
      resource: definitionPlural,
      name,
      subresource: '',
      namespace: '',
      fieldSelector: '',
      labelSelector: '',
    },
  ]);
  const user = plainName(request.userInfo?.username ?? '');
  if (answer?.allowed === true) return { by: `the annotation ${ALLOW_BREAKING} of ${user}`, notes: [] };
  const why = answer?.error === undefined ? '' : ` (${answer.error})`;
  return no(`user "${user}" does not hold the verb ${allowBreakingVerb} on ${definitionPlural} "${name}"${why}`);
}
