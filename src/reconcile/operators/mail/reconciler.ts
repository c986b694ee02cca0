/**
 * Notifies the approvers of a pending Approval, level by level, and records in its status that the mail server accepted
 * the message.
 */
import type { Counter } from 'prom-client';
import { type Approval, approval, approvalLevel, approvalOutcome } from '../../../api/index.ts';
import { controllerManagedBy, type EventRecorder, type Logger, type Manager } from '../../../runtime/index.ts';
import type { Mailer } from './mailer.ts';
import { messageOf } from './message.ts';

interface ApprovalMailOptions {
  readonly mailer: Mailer;
  readonly log: Logger;
  readonly recorder?: Pick<EventRecorder, 'record'> | undefined;
  /** Counts messages by `result`: sent or failed. */
  readonly counted?: Pick<Counter<'result'>, 'inc'> | undefined;
  /** The delay between two tries while the mail server is unavailable. */
  readonly retryMilliseconds?: number | undefined;
}

const fieldManager = 'kidp-mail';

export function addApprovalMail(manager: Manager, options: ApprovalMailOptions): void {
  const { mailer, log, recorder, counted, retryMilliseconds = 10_000 } = options;
  controllerManagedBy(manager, 'approval-mail')
    .for<Approval>(approval.resource)
    .complete(async ({ name }, { client, read }) => {
      const object = await read.get<Approval>(approval.resource, { name });
      if (object === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
      const level = approvalLevel(object) ?? 1;
      if (approvalOutcome(object) !== 'Pending' || (object.status?.notifiedLevel ?? 0) >= level) return undefined;
      const message = messageOf(object, mailer.domain);
      if (message === undefined) return undefined;
      let refused: readonly string[];
      try {
        ({ refused } = await mailer.send(message));
      } catch (error) {
        const cause = error instanceof Error ? error.message : String(error);
        counted?.inc({ result: 'failed' });
        log.warn('failed to send the e-mail about an approval; retried', {
          approval: name,
          approvalLevel: level,
          cause,
        });
        recorder?.record({
          regarding: object,
          type: 'Warning',
          reason: 'NotificationFailed',
          action: 'Notify',
          note: `failed to notify the approvers by e-mail: ${cause}`.slice(0, 1024),
        });
        return { requeueAfterMilliseconds: retryMilliseconds };
      }
      counted?.inc({ result: 'sent' });
      // The other recipients have the message. Sending it again would only give them duplicates.
      if (refused.length > 0) {
        log.warn('the mail server rejected recipients of an e-mail about an approval', {
          approval: name,
          approvalLevel: level,
          refused,
        });
        recorder?.record({
          regarding: object,
          type: 'Warning',
          reason: 'RecipientRejected',
          action: 'Notify',
          note: `the mail server rejects the recipients ${refused.join(', ')}: correct spec.notify`.slice(0, 1024),
        });
      }
      log.info('approvers notified', {
        approval: name,
        approvalLevel: level,
        messageId: message.id,
      });
      // Sent before it is recorded: if the process ends in between, the message is sent again with the same id.
      const status = { notifiedAt: new Date(manager.clock.now()).toISOString(), notifiedLevel: level };
      const body = { apiVersion: object.apiVersion, kind: object.kind, metadata: { name }, status };
      await client.apply(approval.resource, body, { subresource: 'status', fieldManager, force: true });
      return undefined;
    });
}
