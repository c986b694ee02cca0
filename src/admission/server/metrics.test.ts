import { expect, it } from 'vitest';
import { compilePolicy, decide, emptyWorld, policySet, readPolicy } from '../../policy/index.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import { admissionMetrics } from './metrics.ts';

it('counts for each policy how often it was asked, refused and failed', async () => {
  const policies = ['false', 'object.missing == 1', 'true'].map((expression, index) => {
    const { model } = readPolicy({
      apiVersion: 'platform.company.com/v1',
      kind: 'Policy',
      metadata: { name: `policy-${index}` },
      spec: { selector: { resourceTypes: ['core/v1/ConfigMap'] }, rules: [{ name: 'only', expression }] },
    });
    const { policy } = model === undefined ? {} : compilePolicy(model);
    if (policy === undefined) throw new Error('does not compile');
    return policy;
  });
  const request: AdmissionRequest = {
    uid: 'u',
    kind: { group: '', version: 'v1', kind: 'ConfigMap' },
    operation: 'CREATE',
    namespace: 'default',
    object: { metadata: { name: 'a' } },
  };
  const metrics = admissionMetrics();
  const decision = decide(policySet({ policies }), request, emptyWorld(0));
  for (let times = 0; times < 2; times += 1) metrics.observer.evaluated?.({ request, decision, microseconds: 300 });
  const text = await metrics.text();
  for (const line of [
    'kidp_policy_evaluations_total{policy="policy-0"} 2',
    'kidp_policy_evaluations_total{policy="policy-2"} 2',
    'kidp_policy_denials_total{policy="policy-0"} 2',
    'kidp_policy_denials_total{policy="policy-1"} 2',
    'kidp_policy_denials_total{policy="policy-2"} 0',
    'kidp_policy_errors_total{policy="policy-1"} 2',
    'kidp_policy_evaluation_duration_seconds_bucket{policy="policy-0",le="0.00001"} 0',
    'kidp_policy_evaluation_duration_seconds_bucket{policy="policy-0",le="0.0001"} 2',
    'kidp_policy_evaluation_duration_seconds_bucket{policy="policy-0",le="+Inf"} 2',
    'kidp_policy_evaluation_duration_seconds_sum{policy="policy-0"} 0.0002',
    'kidp_policy_evaluation_duration_seconds_count{policy="policy-0"} 2',
  ]) {
    expect(text).toContain(line);
  }
});
