/**
 * Who has let a breaking change through: an Approval of exactly this change, or where the cluster is not a production one, an
 * annotation that names exactly this change, from a user who may do that. Neither holds for the next change.
 */
import { type Approval, approval, approvalOutcome, GROUP } from '../../../api/index.ts';
import type { AskAuthorizer } from '../../../policy/index.ts';
import { type Client, eachObject } from '../../../runtime/index.ts';
import type { AdmissionRequest } from '../../review/decode.ts';
import { annotationOf, definitionGroup, definitionKind, definitionPlural } from './definition.ts';

export const ALLOW_BREAKING = `${GROUP}/allow-breaking`;
export const allowBreakingVerb = 'allow-breaking';

/** Where a mistake costs most is where the annotation does not count. */
export type Environment = 'production' | 'staging' | 'dev';

interface PermissionQuestion {
  readonly request: AdmissionRequest;
  readonly name: string;
  readonly uid: string;
  /** Of exactly this change. */
  readonly digest: string;
  readonly client: Client | undefined;
  readonly ask: AskAuthorizer;
  readonly environment: Environment;
  readonly signal: AbortSignal;
}

export interface Permission {
  /** By what: `Approval widgets-2`, `the annotation of ada`. Undefined: nobody has. */
  readonly by: string | undefined;
  /** What was found and does not count, and why. */
  readonly notes: readonly string[];
}

export async function permissionFor(question: PermissionQuestion): Promise<Permission> {
  const approved = await byApproval(question);
  if (approved.by !== undefined) return approved;
  const annotated = await byAnnotation(question);
  return { by: annotated.by, notes: [...approved.notes, ...annotated.notes] };
}

async function byApproval({ client, name, uid, digest, signal }: PermissionQuestion): Promise<Permission> {
  if (client === undefined) return { by: undefined, notes: [] };
  const notes: string[] = [];
  let by: string | undefined;
  let rejected = false;
  const look = (object: unknown) => {
    const { metadata, spec } = object as Approval;
    const { subject } = spec;
    if (subject.kind !== definitionKind || subject.name !== name || subject.digest !== digest) return;
    if (subject.uid !== uid) {
      notes.push(`Approval ${metadata.name} is for an earlier definition of this name (another uid)`);
      return;
    }
    switch (approvalOutcome({ spec })) {
      case 'Approved':
        by ??= `Approval ${metadata.name}`;
        break;
      case 'Rejected':
        rejected = true;
        notes.push(`Approval ${metadata.name} was rejected`);
        break;
      case 'Pending':
        notes.push(`Approval ${metadata.name} is not decided yet`);
    }
  };
  try {
    await eachObject(client, approval.resource, { signal }, look);
  } catch (error) {
    if (signal.aborted) throw error;
    notes.push(`Approvals could not be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  // Who was refused must not get it from somebody else who does not know.
  return { by: rejected ? undefined : by, notes };
}

async function byAnnotation(question: PermissionQuestion): Promise<Permission> {
  const { request, digest, environment, name, ask } = question;
  const written = annotationOf(request.object, ALLOW_BREAKING);
  const no = (note: string): Permission => ({ by: undefined, notes: [note] });
  if (written === undefined) return { by: undefined, notes: [] };
  if (environment === 'production')
    return no(`the annotation ${ALLOW_BREAKING} does not count where kidp runs with --environment production`);
  if (written.trim() !== digest) return no(`the annotation ${ALLOW_BREAKING} names another change than this one`);
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
  const user = request.userInfo?.username ?? '';
  if (answer?.allowed === true) return { by: `the annotation ${ALLOW_BREAKING} of ${user}`, notes: [] };
  const why = answer?.error === undefined ? '' : ` (${answer.error})`;
  return no(`user "${user}" does not hold the verb ${allowBreakingVerb} on ${definitionPlural} "${name}"${why}`);
}
