/**
 * Takes requests, whichever way they came: claims what is new, knows again what is not, and answers questions. The claim is one
 * write over the record that it was decided on, so it does not matter how many instances take the same request at the same time.
 */
import type { Logger } from '../../runtime/index.ts';
import type { ChannelName } from '../channel.ts';
import { compareDeployments, parseDeploymentId } from '../deployment-id.ts';
import type { RequestEvent } from '../messages.ts';
import type { BrokerMetrics } from './metrics.ts';
import type { RecordStore, StoredRecord } from './provider.ts';
import { claim, queried } from './record.ts';
import type { Reporter } from './reporter.ts';

interface Receipt {
  readonly deploymentId: string;
  readonly outcome: 'accepted' | 'duplicate' | 'stale';
}

export interface Intake {
  receive(event: RequestEvent, channel: ChannelName): Promise<Receipt>;
}

interface IntakeOptions {
  readonly records: RecordStore;
  readonly reporter: Reporter;
  /** Somebody has to carry it out. */
  readonly claimed: (uid: string) => void;
  readonly instance: string;
  readonly now: () => number;
  /** As long as tombstones are kept: what is older and unknown may have been done and forgotten. */
  readonly keptMilliseconds: number;
  readonly metrics: BrokerMetrics;
  readonly log: Logger;
}

/** Each try that fails means that another one succeeded. */
const maxAttempts = 50;

export function openIntake(options: IntakeOptions): Intake {
  const { records, reporter, metrics, log } = options;
  const moment = () => ({ now: options.now(), instance: options.instance });

  async function claimDeployment(
    event: RequestEvent,
    present: StoredRecord | undefined,
  ): Promise<Receipt['outcome'] | undefined> {
    const { uid } = event.data.resource;
    if (present === undefined && options.now() - Date.parse(event.time) > options.keptMilliseconds) {
      reporter.reportOnce(event, {
        phase: 'failed',
        error: {
          class: 'transient',
          code: 'request-expired',
          message:
            'the request is older than anything this broker remembers: it may have been carried out and undone since',
        },
      });
      return 'stale';
    }
    const made = claim(present?.record, event, moment());
    if (made.outcome === 'accepted') {
      if ((await records.put(made.record, present?.version)) === undefined) return undefined;
      options.claimed(uid);
      reporter.report(uid);
    } else if (made.outcome === 'duplicate') {
      reporter.resend(uid);
    }
    return made.outcome;
  }

  async function answerQuery(event: RequestEvent, present: StoredRecord | undefined): Promise<'accepted' | undefined> {
    const { resource, deploymentId } = event.data;
    if (present === undefined || isNewer(deploymentId, present.record.deploymentId)) {
      reporter.reportOnce(event, { phase: 'absent' });
      return 'accepted';
    }
    if ((await records.put(queried(present.record, event, moment()), present.version)) === undefined) return undefined;
    reporter.report(resource.uid);
    return 'accepted';
  }

  return {
    async receive(event, channel) {
      const { action, deploymentId, resource } = event.data;
      const isQuestion = action === 'Query';
      // A question is about now; a claim that was decided on an old record is refused when it is written.
      let present = isQuestion ? await records.get(resource.uid) : records.known(resource.uid);
      for (let tries = 0; tries < maxAttempts; tries += 1) {
        const outcome = isQuestion ? await answerQuery(event, present) : await claimDeployment(event, present);
        if (outcome !== undefined) {
          metrics.requested(channel, action, outcome);
          log.info('request received', {
            action,
            outcome,
            deploymentId,
            channel,
            subject: event.subject,
            correlationId: event.correlationid,
            traceparent: event.traceparent,
          });
          return { deploymentId, outcome };
        }
        present = await records.get(resource.uid);
      }
      throw new Error(`the record of ${resource.uid} changes faster than it can be written`);
    },
  };
}

function isNewer(deploymentId: string, known: string): boolean {
  const [left, right] = [parseDeploymentId(deploymentId), parseDeploymentId(known)];
  return left !== undefined && right !== undefined && compareDeployments(left, right) > 0;
}
