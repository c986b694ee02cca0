/**
 * E-mail to those who decide over an Approval that waits (requirement 002: within 30 seconds). In: Approvals, a mail server. Out: a message
 * for each level that is asked, at least once, under an id that stays: a mailbox that knows it shows it once.
 */
export { type MailOptions, mailerOf } from './mailer.ts';
export { messageOf } from './message.ts';
export { addApprovalMail } from './reconciler.ts';
