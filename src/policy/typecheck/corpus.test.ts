/**
 * Expressions as policies have them, of which the real API server has said what comes of them: none that runs is called
 * wrong.
 */
import { describe, expect, test } from 'vitest';
import { groups } from '../../../test/cel/support/policy-expressions.ts';
import { readPolicy } from '../load/index.ts';
import { kubernetesSchemas, typeCheck } from './index.ts';

const schemas = kubernetesSchemas();

describe.each(groups)('$name', ({ object, params, rows }) => {
  const [version = '', group = 'core'] = object.apiVersion.split('/').toReversed();
  const run = rows.filter(([, outcome]) => outcome === 'true' || outcome === 'false');

  test.each(run)('%s', (expression) => {
    const { model } = readPolicy({
      apiVersion: 'platform.company.com/v1',
      kind: 'Policy',
      metadata: { name: 'p' },
      spec: {
        selector: { resourceTypes: [`${group}/${version}/${object.kind}`] },
        ...(params === undefined ? {} : { params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' } }),
        rules: [{ name: 'r', expression }],
      },
    });
    const issues = typeCheck(model as NonNullable<typeof model>, schemas);
    expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  });
});
