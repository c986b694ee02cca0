/** The text of the notification, and its stable Message-ID. */
import { type Approval, approvalLevel } from '../../../api/index.ts';
import { plainLine, plainText } from '../../../runtime/internal.ts';

export interface Message {
  readonly id: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

const descriptions = {
  ProductionDeployment: 'a deployment',
  VersionUpgrade: 'a version upgrade',
  BreakingCRDChange: 'a breaking CRD change',
} as const;

/** Returns undefined if there is nobody to notify. `domain` is the part of the Message-ID after the @. */
export function messageOf(object: Approval, domain: string): Message | undefined {
  const { metadata, spec } = object;
  const { notify = [], subject, type, environment, reason, requester, levels } = spec;
  if (notify.length === 0 || metadata.uid === undefined) return undefined;
  const level = approvalLevel(object) ?? 1;
  const asked = levels?.[level - 1];
  const what = type === undefined ? 'a change' : descriptions[type];
  const where = environment === undefined ? '' : ` in ${environment}`;
  const lines = [
    `${plainLine(requester ?? 'A user')} requests approval of ${what}${where}: ${subject.kind} ${plainLine(subject.name)}.`,
    ...(reason === undefined ? [] : ['', plainText(reason)]),
    '',
    ...(asked === undefined ? [] : [`Level ${level} of ${levels?.length}: ${asked.approvals} × ${asked.role}.`]),
    `The approval applies to exactly this digest: ${subject.digest}`,
    '',
    `  kubectl get approval ${metadata.name} -o yaml`,
    `  kidp rollout approve ${metadata.name} --reason "…"`,
    `  kidp rollout reject ${metadata.name} --reason "…"`,
    '',
    'The requester cannot approve. The change waits until the Approval is decided.',
  ];
  return {
    id: `<approval-${metadata.uid}-${level}@${domain}>`,
    to: notify,
    subject: `Approval required: ${what}${where}: ${plainLine(subject.name)}`,
    text: `${lines.join('\n')}\n`,
  };
}
