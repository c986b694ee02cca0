/** The reconcilers of the platform on one real API server, which takes longer to start than any of these tests. */
import { afterAll, beforeAll } from 'vitest';
import { bindingTests } from './support/bindings.ts';
import { brokerTests } from './support/brokers.ts';
import { commandTests } from './support/commands.ts';
import { type RunningPlatform, startReconciledPlatform } from './support/setup.ts';
import { teamTests } from './support/teams.ts';

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startReconciledPlatform();
});
afterAll(() => platform?.stop());

teamTests(() => platform);
bindingTests(() => platform);
brokerTests(() => platform);
commandTests(() => platform);
