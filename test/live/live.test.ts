/** Policies at work in a cluster, on one real API server, which takes longer to start than any of these tests. */
import { afterAll, beforeAll } from 'vitest';
import { ownWriteTests } from './own-writes.ts';
import { type PolicyPlane, startPolicyPlane } from './platform.ts';
import { policyTests } from './policies.ts';
import { replicaTests } from './replicas.ts';

let live: PolicyPlane;
beforeAll(async () => {
  live = await startPolicyPlane();
});
afterAll(() => live?.stop());

ownWriteTests(() => live);
policyTests(() => live);
replicaTests(() => live);
