/** Admission as users meet it, on one real API server, which takes longer to start than any of these tests. Each has a webhook of its own there. */
import { afterAll, beforeAll } from 'vitest';
import { namespaceTests } from './support/namespace-tests.ts';
import { ownershipTests } from './support/ownership-tests.ts';
import { type Platform, startPlatform } from './support/platform.ts';
import { policyTests } from './support/policy-tests.ts';
import { versionTests } from './support/version-tests.ts';

let platform: Platform;
beforeAll(async () => {
  const rules = [{ level: 'Metadata', resources: [{ group: '', resources: ['configmaps'] }] }, { level: 'None' }];
  platform = await startPlatform({ controllerManager: true, audit: { omitStages: ['RequestReceived'], rules } });
});
afterAll(() => platform?.stop());

versionTests(() => platform);
policyTests(() => platform);
ownershipTests(() => platform);
namespaceTests(() => platform);
