/** Tells those who decide that an Approval waits, level by level, and writes down that the mail server has taken the message. */
import type { Counter } from 'prom-client';
import { type Approval, approval, approvalLevel, approvalOutcome } from '../../../api/index.ts';
import { controllerManagedBy, type EventRecorder, type Logger, type Manager } from '../../../runtime/index.ts';
import type { Mailer } from './mailer.ts';
import { messageOf } from './message.ts';

interface ApprovalMailOptions {
  readonly mailer: Mailer;
  readonly log: Logger;
  readonly recorder?: Pick<EventRecorder, 'record'> | undefined;
  /** By `result`: sent, failed. */
  readonly counted?: Pick<Counter<'result'>, 'inc'> | undefined;
  /** Between two attempts where the mail server is away. */
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
        const why = error instanceof Error ? error.message : String(error);
        counted?.inc({ result: 'failed' });
        log.warn('an e-mail about an approval could not be sent', { approval: name, approvalLevel: level, why });
        recorder?.record({
          regarding: object,
          type: 'Warning',
          reason: 'MailNotSent',
          action: 'Notify',
          note: `Those who decide could not be told by e-mail: ${why}`.slice(0, 1024),
        });
        return { requeueAfterMilliseconds: retryMilliseconds };
      }
      counted?.inc({ result: 'sent' });
      // The others have it: to send it again would tell them again and again, and help nobody.
      if (refused.length > 0) {
        log.warn('an e-mail about an approval was not taken for everybody', {
          approval: name,
          approvalLevel: level,
          refused,
        });
        recorder?.record({
          regarding: object,
          type: 'Warning',
          reason: 'MailRefused',
          action: 'Notify',
          note: `The mail server does not take messages for ${refused.join(', ')}: see spec.notify`.slice(0, 1024),
        });
      }
      log.info('those who decide over an approval were told', {
        approval: name,
        approvalLevel: level,
        messageId: message.id,
      });
      // Sent before it is written down: who is stopped in between sends it again, under the same id.
      const status = { notifiedAt: new Date(manager.clock.now()).toISOString(), notifiedLevel: level };
      const body = { apiVersion: object.apiVersion, kind: object.kind, metadata: { name }, status };
      await client.apply(approval.resource, body, { subresource: 'status', fieldManager, force: true });
      return undefined;
    });
}
