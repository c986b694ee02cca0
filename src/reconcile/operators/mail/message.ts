/** The words of the message, and the id that it keeps however often it is sent. */
import { type Approval, approvalLevel } from '../../../api/index.ts';

export interface Message {
  readonly id: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

const whats = {
  ProductionDeployment: 'a deployment',
  VersionUpgrade: 'a version upgrade',
  BreakingCRDChange: 'a breaking change of a custom resource definition',
} as const;

/** Undefined where nobody is to be told. `domain`: the part of the id after the @, that of whom it is sent by. */
export function messageOf(object: Approval, domain: string): Message | undefined {
  const { metadata, spec } = object;
  const { notify = [], subject, type, environment, reason, requester, levels } = spec;
  if (notify.length === 0 || metadata.uid === undefined) return undefined;
  const level = approvalLevel(object) ?? 1;
  const asked = levels?.[level - 1];
  const what = type === undefined ? 'a change' : whats[type];
  const where = environment === undefined ? '' : ` in ${environment}`;
  const lines = [
    `${oneLine(requester ?? 'Somebody')} asks for ${what}${where}: ${subject.kind} ${subject.name}.`,
    ...(reason === undefined ? [] : ['', reason]),
    '',
    ...(asked === undefined ? [] : [`Level ${level} of ${levels?.length}: ${asked.approvals} × ${asked.role}.`]),
    `It is for exactly this: ${subject.digest}`,
    '',
    `  kubectl get approval ${metadata.name} -o yaml`,
    `  kidp rollout approve ${metadata.name} --reason "…"`,
    `  kidp rollout reject ${metadata.name} --reason "…"`,
    '',
    'Whoever asked does not decide. Nothing happens until it is decided.',
  ];
  return {
    id: `<approval-${metadata.uid}-${level}@${domain}>`,
    to: notify,
    subject: `Approval needed: ${what}${where}: ${oneLine(subject.name)}`,
    text: `${lines.join('\n')}\n`,
  };
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ');
