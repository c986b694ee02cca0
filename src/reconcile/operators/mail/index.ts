/**
 * Notifies approvers of a pending Approval by e-mail (docs/requirements.md, 002 FR-OP-007: within 30 seconds). In:
 * Approvals and a mail server. Out: a message for each level, at least once, with a stable Message-ID, so that
 * mailboxes can drop duplicates.
 */
export { type MailOptions, mailerOf } from './mailer.ts';
export { messageOf } from './message.ts';
export { addApprovalMail } from './reconciler.ts';
