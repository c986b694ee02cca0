/**
 * The context that all suites share: one testbed, a platform with full logs, traces and metrics, users, and a cluster
 * that can be disconnected.
 */
import { join } from 'node:path';
import { logTo } from '../../../src/cli/common/log.ts';
import type { Platform } from '../../../src/platform/index.ts';
import { telemetrySettings } from '../../../src/runtime/index.ts';
import { type Collector, startCollector } from '../../support/otlp-collector.ts';
import { lineFrom, startTestProcess } from '../../support/test-process.ts';
import { untilReady } from './cluster-ready.ts';
import { inviteOnto, type People } from './people.ts';
import { addFarCluster, type FarCluster } from './proxied-cluster.ts';
import { type Stage, startStage } from './testbed.ts';
import { unapproved } from './timing.ts';

export interface Show {
  readonly stage: Stage;
  readonly platform: Platform;
  readonly people: People;
  readonly far: FarCluster;
  readonly collector: Collector;
  /** Every log entry, like with `kidp serve --log-level debug`. */
  readonly log: readonly string[];
  /** The address and CA of a webhook that responds too slowly. */
  readonly slowWebhook: { readonly url: string; readonly authority: string };
  stop(): Promise<void>;
}

/** Breaking CRD changes in Production require an Admin; nothing else requires an Approval. */
const settings = {
  ...unapproved,
  breakingDefinitions: {
    environments: ['Production' as const],
    levels: [{ role: 'Admin' as const, approvals: 1 }],
  },
};

export async function openShow(): Promise<Show> {
  const undo: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
  };
  const kept = <T extends { stop(): Promise<void> }>(part: T): T => {
    undo.push(() => part.stop());
    return part;
  };
  try {
    const stage = kept(await startStage());
    const far = kept(await addFarCluster(stage));
    const people = kept(await inviteOnto(stage));
    const collector = kept(await startCollector());
    const main = join(import.meta.dirname, 'webhook-main.ts');
    const webhook = startTestProcess('the slow webhook', process.execPath, [main], { stdio: 'pipe' });
    undo.push(async () => void (await webhook.kill()));
    const [line] = await lineFrom(webhook, /^\{.*\}$/);
    const slowWebhook = JSON.parse(line) as Show['slowWebhook'];
    const log: string[] = [];
    const rest = { authentication: people.authentication };
    const telemetry = telemetrySettings({}, collector.url);
    const written = logTo({ write: (line: string) => log.push(line) }, 'debug');
    const platform = kept(await stage.run({ settings, rest }, { log: written, telemetry }));
    // A cluster that was never reached is skipped in plans.
    for (const { name } of stage.targets) await untilReady(stage.client, name, 'True');
    return { stage, platform, people, far, collector, log, slowWebhook, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
