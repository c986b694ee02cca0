/**
 * Receives requests from both channels: claims new deployments, recognises duplicates, and answers queries. A claim is
 * one write over the record that it was decided on, so any number of instances may receive the same request at the same
 * time.
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
  /** Called for a claimed object, which must now be reconciled. */
  readonly claimed: (uid: string) => void;
  readonly instance: string;
  readonly now: () => number;
  /** How long tombstones are kept: an older, unknown request may have been carried out and forgotten. */
  readonly keptMilliseconds: number;
  readonly metrics: BrokerMetrics;
  readonly log: Logger;
}

/** The limit of attempts: a failed attempt means that another one succeeded. */
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
            'the request is older than the records of this broker: it may have been carried out and reverted since',
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
      // A query asks for the current state; a claim that was decided on a stale record is rejected when it is written.
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
      throw new Error(`cannot write the record of ${resource.uid}: too many concurrent changes`);
    },
  };
}

function isNewer(deploymentId: string, known: string): boolean {
  const [left, right] = [parseDeploymentId(deploymentId), parseDeploymentId(known)];
  return left !== undefined && right !== undefined && compareDeployments(left, right) > 0;
}
