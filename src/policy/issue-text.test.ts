import { describe, expect, it } from 'vitest';
import { compilePolicy } from './engine/index.ts';
import { issueText } from './issue-text.ts';
import { readPolicy } from './load/index.ts';
import { kubernetesSchemas, typeCheckPolicy } from './typecheck/index.ts';

function issuesOf(expression: string, more: object = {}) {
  const { model, issues } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: { selector: { resourceTypes: ['apps/v1/Deployment'] }, rules: [{ name: 'r', expression }], ...more },
  });
  if (model === undefined) return issues;
  const compiled = compilePolicy(model);
  if (compiled.policy === undefined) return compiled.issues;
  return typeCheckPolicy(model, kubernetesSchemas()).issues;
}

describe('issueText', () => {
  it.each([
    {
      reason: 'an expression that is no expression',
      expression: 'spec.x ==\n && true',
      says: "spec.rules[0].expression, line 2, column 2: Syntax error: mismatched input '&&' expecting an expression",
    },
    {
      reason: 'a field that is not there',
      expression: 'spec.replcas > 1',
      says: "spec.rules[0].expression, line 1, column 5: undefined field 'replcas', did you mean 'replicas'? (apps/v1/Deployment)",
    },
    {
      reason: 'a result of another type',
      expression: '1 + 1',
      says: 'spec.rules[0].expression, line 1, column 1: must evaluate to bool, got int',
    },
    {
      reason: 'a field of the policy itself',
      expression: 'true',
      more: { rulse: [] },
      says: 'spec.rulse: is not a known field',
    },
  ])('names its place once: $reason', ({ expression, says, more = {} }) => {
    const [issue] = issuesOf(expression, more);
    if (issue === undefined) throw new Error('nothing was found');
    const words = issueText(issue);
    expect(words.split('\n')[0]?.startsWith(says)).toBe(true);
    expect(words.split(issue.path)).toHaveLength(2);
    expect(words).not.toContain('<input>');
  });
});
