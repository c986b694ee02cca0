import { describe, expect, test } from 'vitest';
import { readPolicy } from '../load/index.ts';
import type { PolicyModel } from '../model.ts';
import { runPolicyTests, type TestResult } from './index.ts';

const database = (spec: object, labels: object = { environment: 'production' }) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  metadata: { name: 'users', namespace: 'team-backend', labels },
  spec,
});

const BACKUP = {
  name: 'require-backup',
  expression: 'spec.?backup.?enabled.orValue(false)',
  message: 'Set spec.backup.enabled to true.',
};

function model(spec: object): PolicyModel {
  const { model: read, issues } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: {
      selector: { resourceTypes: ['Database'], matchLabels: { environment: 'production' } },
      rules: [BACKUP],
      ...spec,
    },
  });
  if (read === undefined) throw new Error(JSON.stringify(issues));
  return read;
}

/** The one test of a policy. */
function tried(written: object, spec: object = {}): TestResult {
  return runPolicyTests(model({ ...spec, tests: [{ name: 't', ...written }] })).results[0] as TestResult;
}

const without = { object: database({}) };
const withBackup = { object: database({ backup: { enabled: true } }) };

describe('expectations', () => {
  test.each([
    { reason: 'a denial', test: { ...without, expect: { allowed: false } } },
    { reason: 'a part of its message', test: { ...without, expect: { allowed: false, message: 'backup.enabled' } } },
    { reason: 'to be admitted', test: { ...withBackup, expect: { allowed: true, message: '', warnings: [] } } },
    {
      reason: 'warnings, in any order',
      test: { ...without, expect: { allowed: true, warnings: ['two', 'one'] } },
      spec: {
        rules: [
          { name: 'a', expression: 'false', message: 'one', enforcement: 'Warn' },
          { name: 'b', expression: 'false', message: 'two', enforcement: 'Warn' },
        ],
      },
    },
    {
      reason: 'parts of warnings, each with one of its own',
      test: { ...without, expect: { warnings: ['number', 'number one'] } },
      spec: {
        rules: [
          { name: 'a', expression: 'false', message: 'number one', enforcement: 'Warn' },
          { name: 'b', expression: 'false', message: 'number two', enforcement: 'Warn' },
        ],
      },
    },
    {
      reason: 'what is only put on record',
      test: { ...without, expect: { allowed: true, audited: ['backup'], warnings: [] } },
      spec: { rules: [{ ...BACKUP, enforcement: 'Audit' }] },
    },
    {
      reason: 'a rule as it will hold once its date has come',
      test: { ...without, expect: { allowed: false } },
      spec: { rules: [{ ...BACKUP, enforceAfter: '2999-01-01' }] },
    },
    {
      reason: 'the object after mutation, judged by the rules',
      test: { ...without, expect: { allowed: true, object: { spec: { backup: { enabled: true } } } } },
      spec: {
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: "[JSONPatch{op: 'add', path: '/spec/backup', value: {'enabled': true}}]",
            },
          },
        ],
      },
    },
    {
      reason: 'an update by a user in a namespace with labels',
      test: {
        ...withBackup,
        oldObject: database({}),
        user: { username: 'ada', groups: ['admins'] },
        namespace: { labels: { tier: 'gold' } },
        expect: { allowed: true },
      },
      spec: {
        rules: [
          {
            name: 'all',
            expression:
              "request.operation == 'UPDATE' && request.userInfo.username == 'ada' && 'admins' in request.userInfo.groups && namespaceObject.metadata.labels['tier'] == 'gold' && !has(oldObject.spec.backup)",
          },
        ],
      },
    },
    {
      reason: 'a deletion',
      test: { oldObject: database({}), expect: { allowed: false } },
      spec: {
        selector: { resourceTypes: ['Database'], operations: ['DELETE'] },
        rules: [{ name: 'never', expression: 'oldObject == null' }],
      },
    },
    {
      reason: 'params and context',
      test: {
        ...withBackup,
        params: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { max: '1' } }],
        context: { teams: [{ metadata: { name: 'a' } }], one: [{ metadata: { name: 'x' } }] },
        expect: { allowed: true },
      },
      spec: {
        params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' },
        context: [
          { name: 'teams', apiVersion: 'platform.company.com/v1', kind: 'Team' },
          { name: 'one', apiVersion: 'platform.company.com/v1', kind: 'Team', resourceName: 'x' },
          { name: 'none', apiVersion: 'platform.company.com/v1', kind: 'Cache' },
        ],
        rules: [
          {
            name: 'all',
            expression: "params.data.max == '1' && teams.size() == 1 && one.metadata.name == 'x' && none.size() == 0",
          },
        ],
      },
    },
  ])('$reason', ({ test: written, spec }) => {
    expect(tried(written, spec).failures).toEqual([]);
  });
});

describe('differences', () => {
  test.each([
    {
      reason: 'it was denied',
      test: { ...without, expect: { allowed: true } },
      says: [
        /^allowed: expected true, got false: spec.backup.enabled is not set, want true. Set spec.backup.enabled to true/,
      ],
    },
    {
      reason: 'it was admitted',
      test: { ...withBackup, expect: { allowed: false, message: 'backup' } },
      says: [/^allowed: expected false, got true$/, /^message: expected it to contain "backup", got none$/],
    },
    {
      reason: 'another message',
      test: { ...without, expect: { message: 'replicas' } },
      says: [
        /^message: expected it to contain "replicas", got "spec.backup.enabled is not set, want true. Set spec.backup/,
      ],
    },
    {
      reason: 'a warning too many',
      test: { ...without, expect: { warnings: [] } },
      spec: { rules: [{ ...BACKUP, enforcement: 'Warn' }] },
      says: [/^warnings: did not expect "spec.backup.enabled is not set, want true. Set spec.backup/],
    },
    {
      reason: 'a warning too few',
      test: { ...without, expect: { warnings: ['Set', 'another'] } },
      spec: { rules: [{ ...BACKUP, enforcement: 'Warn' }] },
      says: [/^warnings: expected "another", got "spec.backup.enabled is not set, want true. Set spec/],
    },
    {
      reason: 'fields of the object that differ',
      test: {
        ...withBackup,
        expect: { object: { spec: { backup: { enabled: false }, size: 'large', list: ['x'] }, metadata: 'x' } },
      },
      says: [
        /^object.spec.backup.enabled: expected false, got true$/,
        /^object.spec.size: expected "large", got nothing$/,
        /^object.spec.list: expected a list, got nothing$/,
        /^object.metadata: expected "x", got \{/,
      ],
    },
    {
      reason: 'the policy does not match it',
      test: { object: database({}, {}), expect: { allowed: false } },
      says: [/^the policy does not match: labels$/, /^allowed: expected false, got true$/],
    },
    {
      reason: 'no user',
      test: { ...without, expect: { allowed: true } },
      spec: { rules: [{ name: 'r', expression: "request.userInfo.username == 'ada'" }] },
      says: [/rule r was not evaluated: .*set user in the test/],
    },
    {
      reason: 'neither object nor old object',
      test: { expect: { allowed: true } },
      says: [/^no object: set object/],
    },
    {
      reason: 'an expression that fails',
      test: { ...without, expect: { allowed: true } },
      spec: { rules: [{ name: 'r', expression: 'spec.backup.enabled' }] },
      says: [/^allowed: expected true, got false: .*no such key: backup/],
    },
  ])('$reason', ({ test: written, spec, says }) => {
    const { passed, failures } = tried(written, spec);
    expect(passed).toBe(false);
    expect(failures).toHaveLength(says.length);
    says.forEach((each, index) => {
      expect(failures[index]).toMatch(each);
    });
  });
});

test('an object that the policy does not match is admitted, with a note', () => {
  expect(tried({ object: database({}, {}), expect: { allowed: true } })).toMatchObject({
    passed: true,
    notes: ['the policy does not match: labels'],
  });
});

test('a policy that does not compile has issues and no results', () => {
  const report = runPolicyTests(model({ rules: [{ name: 'r', expression: 'spec.(' }], tests: [] }));
  expect(report.issues).toMatchObject([{ severity: 'error', path: 'spec.rules[0].expression' }]);
});

test('rules that no test sees both pass and fail are listed', () => {
  const { rules } = runPolicyTests(
    model({
      rules: [BACKUP, { name: 'never', expression: 'true' }],
      tests: [{ name: 't', ...without, expect: { allowed: false } }],
    }),
  );
  expect(rules).toEqual([
    { rule: 'require-backup', path: 'spec.rules[0]', held: false, violated: true },
    { rule: 'never', path: 'spec.rules[1]', held: true, violated: false },
  ]);
});

test('without coverage the results are the same, and nothing is measured', () => {
  const tests = [{ name: 't', ...without, expect: { allowed: false } }];
  const { results, coverage } = runPolicyTests(model({ tests }), { coverage: false });
  expect(results).toMatchObject([{ passed: true }]);
  expect(coverage).toMatchObject({ total: 0, missing: [] });
});

test('a test that does not run before the deadline fails', () => {
  const tests = [{ name: 't', ...without, expect: { allowed: false } }];
  const { results } = runPolicyTests(model({ tests }), { deadline: 0 });
  expect(results).toMatchObject([{ passed: false, failures: [expect.stringContaining('deadline passed')] }]);
});

describe('the authorizer of a test', () => {
  const rule = (expression: string) => ({ rules: [{ name: 'asks', expression, message: 'Not allowed.' }] });
  const secrets = "authorizer.group('').resource('secrets').namespace('shop').check('list')";
  const may = rule(`${secrets}.allowed()`);
  test.each([
    { reason: 'what is named exactly', authorizer: [{ verb: 'list', group: '', resource: 'secrets' }], spec: may },
    { reason: 'what is left out may be anything', authorizer: [{}], spec: may },
    { reason: 'nothing else is allowed', authorizer: [], spec: may, allowed: false },
    { reason: 'another namespace', authorizer: [{ namespace: 'bank' }], spec: may, allowed: false },
    { reason: 'another verb', authorizer: [{ verb: 'get' }], spec: may, allowed: false },
    { reason: 'a path is no resource', authorizer: [{ path: '/healthz' }], spec: may, allowed: false },
    { reason: 'the first counts', authorizer: [{ verb: 'list', allowed: false }, {}], spec: may, allowed: false },
    {
      reason: 'a path',
      authorizer: [{ path: '/healthz', verb: 'get' }],
      spec: rule("authorizer.path('/healthz').check('get').allowed() && !authorizer.path('/x').check('get').allowed()"),
    },
    {
      reason: 'a service account is another subject',
      authorizer: [{ serviceAccount: { namespace: 'shop', name: 'robot' } }],
      spec: rule(
        `${secrets.replace('authorizer', "authorizer.serviceAccount('shop', 'robot')")}.allowed() && !${secrets}.allowed()`,
      ),
    },
    {
      reason: 'the request itself',
      authorizer: [{ verb: 'approve', resource: 'databases', name: 'users' }],
      spec: rule("authorizer.requestResource.check('approve').allowed()"),
    },
    { reason: 'a reason', authorizer: [{ reason: 'yes' }], spec: rule(`${secrets}.reason() == 'yes'`) },
    {
      reason: 'an error',
      authorizer: [{ error: 'no answer' }],
      spec: rule(`${secrets}.errored() && !${secrets}.allowed()`),
    },
  ])('$reason', ({ authorizer, spec, allowed = true }) => {
    const { failures, notes } = tried({ ...without, authorizer, expect: { allowed } }, spec);
    expect({ failures, notes }).toEqual({ failures: [], notes: [] });
  });

  test('without an authorizer the rule is not evaluated, and a note says so', () => {
    const { passed, notes } = tried({ ...without, expect: { allowed: true } }, may);
    expect({ passed, notes }).toEqual({
      passed: true,
      notes: ['rule asks was not evaluated: it needs a request: authorization checks; set authorizer in the test'],
    });
  });
});
