/**
 * `kidp rollout approve` and `reject` add a decision to an Approval, or to every Approval that a rollout waits for. Admission writes the
 * user and the time of the decision; without it the API server rejects decisions.
 */
import { type Approval, approval, approvalLevel, approvalOutcome } from '../../api/index.ts';
import { ApiError, type Client, isNotFound } from '../../runtime/index.ts';
import { plainLine } from '../../runtime/internal.ts';
import { InputError } from '../common/failure.ts';
import { withManagement } from '../common/management.ts';
import type { WhereFlags } from '../common/management-flags.ts';
import type { Streams } from '../common/streams.ts';
import { findRollout } from './find.ts';

export interface DecideFlags extends WhereFlags {
  readonly reason?: string;
}

export type Decision = 'Approve' | 'Reject';

export function decide(name: string, decision: Decision, flags: DecideFlags, streams: Streams): Promise<number> {
  return withManagement(flags, (client) => decideWith(client, name, { decision, reason: flags.reason }, streams));
}

interface Entry {
  readonly decision: Decision;
  readonly reason: string | undefined;
}

export async function decideWith(
  client: Pick<Client, 'get' | 'patch'>,
  name: string,
  entry: Entry,
  streams: Streams,
): Promise<number> {
  let refused = 0;
  for (const each of await undecided(client, name)) {
    if (!(await decided(client, each, entry, streams))) refused += 1;
    // One rejection ends the rollout: its other Approvals need no decision.
    else if (entry.decision === 'Reject') return 0;
  }
  return refused === 0 ? 0 : 1;
}

/** `undecided` returns the Approval of that name, or the pending Approvals of the rollout of that name. */
async function undecided(client: Pick<Client, 'get'>, name: string): Promise<Approval[]> {
  const [kind, rest] = name.includes('/') ? (name.split('/', 2) as [string, string]) : [undefined, name];
  if (kind !== undefined && kind !== 'approval' && kind !== 'rollout') {
    throw new InputError('approval', `${name}: want approval/NAME, rollout/NAME or the name alone.`);
  }
  const one = kind === 'rollout' ? undefined : await findApproval(client, rest);
  const rollout = kind === 'approval' ? undefined : await findRollout(client, rest);
  if (one !== undefined && rollout !== undefined) {
    throw new InputError(
      'approval',
      `there is both an Approval and an OperatorDeployment ${rest}: use approval/${rest} or rollout/${rest}.`,
    );
  }
  if (one !== undefined) return [stillOpen(one)];
  if (rollout === undefined) {
    throw new InputError(
      'approval',
      `no Approval or OperatorDeployment ${rest}; see \`kidp rollout list\` and \`kubectl get approvals\`.`,
    );
  }
  const names = (rollout.status?.approvals ?? []).filter(({ outcome }) => outcome === 'Pending');
  const found = await Promise.all(names.map((each) => findApproval(client, each.name)));
  const open = found.filter((each) => each !== undefined && approvalOutcome(each) === 'Pending');
  if (open.length > 0) return open as Approval[];
  throw new InputError('approval', `${rest} waits for no Approval; see \`kidp rollout status ${rest}\`.`);
}

function stillOpen(found: Approval): Approval {
  const outcome = approvalOutcome(found);
  if (outcome === 'Pending') return found;
  throw new InputError('approval', `Approval ${found.metadata.name} is already decided: ${outcome}.`);
}

async function findApproval(client: Pick<Client, 'get'>, name: string): Promise<Approval | undefined> {
  try {
    return await client.get<Approval>(approval.resource, { name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function decided(
  client: Pick<Client, 'patch'>,
  { metadata }: Approval,
  { decision, reason }: Entry,
  { out, err }: Streams,
): Promise<boolean> {
  const { name, uid = '' } = metadata;
  const value = { decision, ...(reason === undefined ? {} : { reason }) };
  try {
    const after = await client.patch<Approval>(
      approval.resource,
      { name },
      {
        type: 'json',
        body: [
          { op: 'test', path: '/metadata/uid', value: uid },
          { op: 'add', path: '/spec/decisions/-', value },
        ],
      },
      { fieldManager: 'kidp-cli' },
    );
    out.write(`${outcomeText(after)}\n`);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    err.write(`kidp: Approval ${name}: ${plainLine(error.message)}\n`);
    return false;
  }
}

/** `outcomeText` describes the outcome of an Approval and, while it is pending, the next level. */
export function outcomeText(after: Approval): string {
  const { metadata, spec } = after;
  const outcome = approvalOutcome(after);
  const about = [spec.type, spec.environment].filter((part) => part !== undefined).join(', ');
  const head = `Approval ${metadata.name}${about === '' ? '' : ` (${about})`}`;
  if (outcome !== 'Pending') return `${head}: ${outcome.toLowerCase()}`;
  const level = approvalLevel(after);
  const next = level === undefined ? undefined : spec.levels?.[level - 1];
  if (level === undefined || next === undefined)
    return `${head}: your decision is recorded; more decisions are required`;
  return `${head}: your decision is recorded; level ${level} of ${spec.levels?.length} requires ${next.approvals} × ${next.role}`;
}
