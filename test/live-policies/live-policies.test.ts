/** Policies at work in a cluster, on one real API server, which takes longer to start than any of these tests. */
import { afterAll, beforeAll } from 'vitest';
import { ownWriteTests } from './support/own-write-tests.ts';
import { type PolicyPlane, startPolicyPlane } from './support/platform.ts';
import { policyTests } from './support/policy-tests.ts';
import { replicaTests } from './support/replica-tests.ts';

let live: PolicyPlane;
beforeAll(async () => {
  live = await startPolicyPlane();
});
afterAll(() => live?.stop());

ownWriteTests(() => live);
policyTests(() => live);
replicaTests(() => live);
