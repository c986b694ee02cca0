/** All that the tests of rollouts share: one stage, a platform that tells everything it can, people, and a cluster that can be cut off. */
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
  /** Every line, as `kidp serve --log-level debug` writes it. */
  readonly log: readonly string[];
  /** Where it answers, and whom to trust; it takes longer than a webhook may. */
  readonly slowWebhook: { readonly url: string; readonly authority: string };
  stop(): Promise<void>;
}

/** Only an Admin lets definitions through to Production that break somebody; for the rest nobody has to agree. */
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
    // One that was never reached is left out of what is planned.
    for (const { name } of stage.targets) await untilReady(stage.client, name, 'True');
    return { stage, platform, people, far, collector, log, slowWebhook, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
