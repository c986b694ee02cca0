import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RuleResult } from '../../policy/index.ts';
import type { UnknownObject } from '../../runtime/index.ts';
import { Ledger, Pass } from './ledger.ts';

const object = (name: string, namespace?: string): UnknownObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});
const result = (kind: RuleResult['result'], more: Partial<RuleResult> = {}): RuleResult => ({
  policyKind: 'Policy',
  policy: 'p',
  rule: 'r',
  result: kind,
  denies: kind === 'fail',
  audited: false,
  message: 'm',
  severity: 'medium',
  ...more,
});

describe('a pass', () => {
  test('counts every result, and each object once', () => {
    const pass = new Pass(10);
    pass.count(object('a', 'n'), [result('fail'), result('audit', { rule: 's' }), result('pass', { rule: 't' })]);
    pass.count(object('b', 'n'), [result('pass')]);
    const cell = pass.cells.get('Policy/p')?.get('n');
    expect(cell?.counts).toEqual({ pass: 2, fail: 2, warn: 0, error: 0, skip: 0 });
    expect(cell).toMatchObject({ objects: 2, violating: 1 });
    expect(cell?.findings.map(({ rule, denies }) => `${rule} ${denies}`)).toEqual(['r true', 's false']);
  });

  test('keeps the worst findings up to the limit, with exact counts', () => {
    const pass = new Pass(2);
    pass.count(object('a'), [result('warn')]);
    pass.count(object('b'), [result('skip', { exception: 'n/e' })]);
    pass.count(object('c'), [result('fail')]);
    pass.count(object('d'), [result('error')]);
    const cell = pass.cells.get('Policy/p')?.get('');
    expect(cell?.findings.map(({ outcome }) => outcome).sort()).toEqual(['error', 'fail']);
    expect(cell?.counts).toEqual({ pass: 0, fail: 1, warn: 1, error: 1, skip: 1 });
  });

  test('does not list rules that need a request', () => {
    const pass = new Pass(10);
    pass.count(object('a'), [result('skip', { skipped: 'needs a request' })]);
    expect(pass.cells.get('Policy/p')?.get('')).toMatchObject({ findings: [], violating: 0, counts: { skip: 1 } });
  });

  test('distinguishes native policies by their binding', () => {
    const pass = new Pass(10);
    const native = { policyKind: 'ValidatingAdmissionPolicy', binding: 'b' } as const;
    pass.count(object('a'), [result('fail'), result('fail', native)]);
    expect([...pass.cells.keys()]).toEqual(['Policy/p', 'ValidatingAdmissionPolicy/p/b']);
  });

  test('stores messages without control characters', () => {
    const pass = new Pass(1);
    pass.count(object('a'), [result('fail', { message: 'evil\u001b[2J\u202e', why: 'y' })]);
    expect(pass.cells.get('Policy/p')?.get('')?.findings[0]?.message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test('limits the length of a message', () => {
    const pass = new Pass(1);
    pass.count(object('a'), [result('fail', { message: 'x'.repeat(5_000), why: 'y' })]);
    expect(pass.cells.get('Policy/p')?.get('')?.findings[0]?.message.length).toBe(500);
  });
});

describe('the ledger', () => {
  const passOf = (...found: [UnknownObject, RuleResult[]][]) => {
    const pass = new Pass(10);
    for (const [each, results] of found) pass.count(each, results);
    return pass;
  };

  test('replaces the previous pass and returns the namespaces that may have changed', () => {
    const ledger = new Ledger();
    const first = passOf([object('a', 'n'), [result('fail')]], [object('b', 'm'), [result('pass')]]);
    expect([...ledger.take('t', ['Policy/p'], first)].sort()).toEqual(['m', 'n']);
    expect(ledger.policy('Policy/p')).toEqual({ objects: 2, violating: 1 });
    const second = passOf([object('b', 'm'), [result('pass')]]);
    expect([...ledger.take('t', ['Policy/p'], second)].sort()).toEqual(['m', 'n']);
    expect(ledger.namespace('n')).toBeUndefined();
    expect(ledger.policy('Policy/p')).toEqual({ objects: 1, violating: 0 });
  });

  test('keeps the results of other policies', () => {
    const ledger = new Ledger();
    ledger.take('t', ['Policy/p'], passOf([object('a', 'n'), [result('fail')]]));
    ledger.take('t', ['Policy/q'], passOf([object('a', 'n'), [result('fail', { policy: 'q' })]]));
    ledger.take('u', ['Policy/q'], passOf());
    expect(ledger.namespace('n')?.counts.fail).toBe(2);
    expect([...ledger.keepOnly((policy) => policy === 'Policy/q')]).toEqual(['n']);
    expect(ledger.namespace('n')?.findings.map(({ policy }) => policy)).toEqual(['q']);
  });

  test('lists failures first, in a stable order', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 4 }), (names) => {
        const ledger = new Ledger();
        const kinds = { a: 'warn', b: 'fail', c: 'error', d: 'fail' } as Record<string, RuleResult['result']>;
        ledger.take(
          't',
          ['Policy/p'],
          passOf(
            ...names.map((name): [UnknownObject, RuleResult[]] => [object(name, 'n'), [result(kinds[name] ?? 'pass')]]),
          ),
        );
        expect(ledger.namespace('n')?.findings.map((each) => each.object.name)).toEqual(['b', 'd', 'c', 'a']);
      }),
    );
  });

  test('keeps fewer findings per policy when it holds many', () => {
    const ledger = new Ledger(500);
    for (let namespace = 0; namespace < 200; namespace += 1) {
      const pass = ledger.pass();
      for (let index = 0; index < 200; index += 1) pass.count(object(`o${index}`, `n${namespace}`), [result('fail')]);
      ledger.take(`t${namespace}`, ['Policy/p'], pass);
    }
    const held = [...ledger.namespaces()].flatMap((namespace) => ledger.namespace(namespace)?.findings ?? []);
    expect(held.length).toBeLessThan(16_000);
    expect(ledger.namespace('n199')?.counts.fail).toBe(200);
    expect(ledger.namespace('n199')?.findings.length).toBeGreaterThan(0);
  });
});
