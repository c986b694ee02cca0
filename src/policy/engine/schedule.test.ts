import { describe, expect, test } from 'vitest';
import { compileException, compilePolicy, policySet, readException, readPolicy } from '../index.ts';
import { nextTransition, scheduleStateAt } from './schedule.ts';

const compiled = (name: string, enforceAfter?: string) => {
  const rule = { name: 'r', expression: 'true', ...(enforceAfter === undefined ? {} : { enforceAfter }) };
  const { model } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name },
    spec: { selector: { resourceTypes: ['core/v1/Pod'] }, rules: [rule] },
  });
  const { policy } = model === undefined ? {} : compilePolicy(model);
  if (policy === undefined) throw new Error('it does not compile');
  return policy;
};
const exempting = (policy: string, expiresAt: string) => {
  const { exception: read } = readException({
    apiVersion: 'platform.company.com/v1',
    kind: 'PolicyException',
    metadata: { name: 'e', namespace: 'policy-exceptions' },
    spec: { policies: [{ name: policy }], selector: {}, reason: 'tried out', requester: 'ada@company.com', expiresAt },
  });
  const { exception } = read === undefined ? {} : compileException(read);
  if (exception === undefined) throw new Error('it does not compile');
  return exception;
};
const at = (text: string) => Date.parse(text);

describe('changes over time', () => {
  const plain = compiled('plain');
  const later = compiled('later', '2026-03-01');
  const set = policySet({ policies: [plain, later], exceptions: [exempting('plain', '2026-02-01T00:00:00Z')] });

  test.each([
    { reason: 'an exception runs out', policy: plain, moment: '2026-02-01T00:00:00Z' },
    { reason: 'a rule comes into force', policy: later, moment: '2026-03-01T00:00:00Z' },
  ])('$reason: it is another state from that moment on', ({ policy, moment }) => {
    const [before, then] = [scheduleStateAt(set, policy, at(moment) - 1), scheduleStateAt(set, policy, at(moment))];
    expect(before).not.toBe(then);
    expect(scheduleStateAt(set, policy, at(moment) + 1e9)).toBe(then);
  });

  test.each([
    { now: '2026-01-01T00:00:00Z', next: '2026-02-01T00:00:00Z' },
    { now: '2026-02-01T00:00:00Z', next: '2026-03-01T00:00:00Z' },
    { now: '2026-03-01T00:00:00Z', next: undefined },
  ])('at $now the next moment is $next', ({ now, next }) => {
    expect(nextTransition(set, set.policies, at(now))).toBe(next === undefined ? undefined : at(next));
  });
});
