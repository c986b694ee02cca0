/** The reconcilers of the platform on one real API server, which takes longer to start than any of these tests. */
import { afterAll, beforeAll } from 'vitest';
import { bindingTests } from './bindings.ts';
import { brokerTests } from './brokers.ts';
import { commandTests } from './commands.ts';
import { type RunningPlatform, startReconciledPlatform } from './support.ts';
import { teamTests } from './teams.ts';

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startReconciledPlatform();
});
afterAll(() => platform?.stop());

teamTests(() => platform);
bindingTests(() => platform);
brokerTests(() => platform);
commandTests(() => platform);
