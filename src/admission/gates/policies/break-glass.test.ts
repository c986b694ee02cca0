import { expect, test } from 'vitest';
import type { AdmissionRequest, Json } from '../../review/decode.ts';
import { breakGlassChange } from './break-glass.ts';

const group = 'kidp:break-glass';
const rule = (over: Json = {}): Json => ({ name: 'only', expression: 'false', enforcement: 'Deny', ...over });
const policy = (spec: Json = {}, metadata: Json = {}): Json => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name: 'lock', uid: 'u', generation: 1, resourceVersion: '1', managedFields: [1], ...metadata },
  spec: { selector: { resourceTypes: ['*'] }, failurePolicy: 'Fail', rules: [rule()], ...spec },
  status: { observedGeneration: 1 },
});
const update = (object: Json, over: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  uid: 'r',
  kind: { group: 'platform.company.com', version: 'v1', kind: 'Policy' },
  operation: 'UPDATE',
  name: 'lock',
  userInfo: { username: 'ada', groups: ['system:authenticated', group] },
  oldObject: policy(),
  object,
  ...over,
});
const deletion = (over: Partial<AdmissionRequest> = {}): AdmissionRequest => {
  const { object: _, ...others } = update({});
  return { ...others, operation: 'DELETE', ...over };
};
const audit = policy({ rules: [rule({ enforcement: 'Audit' })] });

const exempt: { reason: string; request: AdmissionRequest; change: string }[] = [
  { reason: 'a deletion', request: deletion(), change: 'delete' },
  { reason: 'a rule that only audits', request: update(audit), change: 'enforcement' },
  {
    reason: 'a rule that only warns',
    request: update(policy({ rules: [rule({ enforcement: 'Warn' })] })),
    change: 'enforcement',
  },
  {
    reason: 'two rules at once, one of which had no enforcement',
    request: update(policy({ rules: [rule({ enforcement: 'Warn' }), { name: 'b', enforcement: 'Audit' }] }), {
      oldObject: policy({ rules: [rule(), { name: 'b' }] }),
    }),
    change: 'enforcement',
  },
  { reason: 'failurePolicy Ignore', request: update(policy({ failurePolicy: 'Ignore' })), change: 'failurePolicy' },
  {
    reason: 'kubectl apply, which keeps the manifest in an annotation',
    request: update({
      ...audit,
      metadata: {
        ...(audit.metadata as Json),
        generation: 2,
        managedFields: [2],
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
      },
    }),
    change: 'enforcement',
  },
  {
    reason: 'the label that the platform adds to a Policy that was written without it',
    request: update({
      ...audit,
      metadata: { ...(audit.metadata as Json), labels: { 'platform.company.com/managed-by': 'kidp' } },
    }),
    change: 'enforcement',
  },
];
test.each(exempt)('exempts $reason', ({ request, change }) => {
  expect(breakGlassChange(request, group)).toBe(change);
});

const relaxed = [rule({ enforcement: 'Audit' })];
const held: { reason: string; request: AdmissionRequest }[] = [
  { reason: 'somebody outside the group', request: update(audit, { userInfo: { groups: [`${group}s`] } }) },
  { reason: 'a request without a user', request: update(audit, { userInfo: {} }) },
  { reason: 'a deletion by somebody else', request: deletion({ userInfo: { username: group } }) },
  { reason: 'an update that changes nothing', request: update(policy()) },
  { reason: 'a stricter rule', request: update(policy(), { oldObject: audit }) },
  { reason: 'a stricter failurePolicy', request: update(policy(), { oldObject: policy({ failurePolicy: 'Ignore' }) }) },
  { reason: 'two changes at once', request: update(policy({ rules: relaxed, failurePolicy: 'Ignore' })) },
  {
    reason: 'another expression',
    request: update(policy({ rules: [rule({ enforcement: 'Audit', expression: 'x' })] })),
  },
  {
    reason: 'another name of the rule',
    request: update(policy({ rules: [rule({ enforcement: 'Audit', name: 'x' })] })),
  },
  { reason: 'a rule less', request: update(policy({ rules: [] })) },
  { reason: 'a rule more', request: update(policy({ rules: [...relaxed, rule({ name: 'b' })] })) },
  { reason: 'another selector', request: update(policy({ rules: relaxed, selector: {} })) },
  { reason: 'a mutation more', request: update(policy({ rules: relaxed, mutations: [{}] })) },
  { reason: 'an unknown enforcement', request: update(policy({ rules: [rule({ enforcement: 'Off' })] })) },
  { reason: 'rules that are no list', request: update(policy({ rules: 'none' })) },
  { reason: 'a label', request: update({ ...audit, metadata: { ...(audit.metadata as Json), labels: { a: 'b' } } }) },
  {
    reason: 'an annotation',
    request: update({ ...audit, metadata: { ...(audit.metadata as Json), annotations: { a: 'b' } } }),
  },
  {
    reason: 'an owner reference',
    request: update({ ...audit, metadata: { ...(audit.metadata as Json), ownerReferences: [{}] } }),
  },
  { reason: 'the status', request: update(audit, { subResource: 'status' }) },
  { reason: 'a creation', request: update(policy(), { operation: 'CREATE' }) },
  {
    reason: 'a PolicyException',
    request: deletion({ kind: { group: 'platform.company.com', version: 'v1', kind: 'PolicyException' } }),
  },
  {
    reason: 'a Policy of another group',
    request: deletion({ kind: { group: 'kyverno.io', version: 'v1', kind: 'Policy' } }),
  },
];
test.each(held)('does not exempt $reason', ({ request }) => {
  expect(breakGlassChange(request, group)).toBeUndefined();
});
