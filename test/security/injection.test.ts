/** Text of others in every place where it is shown or stored: names, messages, labels and user names never become commands. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { encodeReview } from '../../src/admission/review/encode.ts';
import type { Approval } from '../../src/api/index.ts';
import { format as checkFormat, outputFormats } from '../../src/cli/check/output/format.ts';
import type { CheckResult } from '../../src/cli/check/result.ts';
import { logTo } from '../../src/cli/common/log.ts';
import { facts, table } from '../../src/cli/common/management.ts';
import { escaping } from '../../src/cli/common/streams.ts';
import { safeYaml } from '../../src/cli/common/yaml.ts';
import { asCsv, asTable } from '../../src/cli/cost/render.ts';
import { type CrdReport, format as crdFormat, crdFormats } from '../../src/cli/crd/output/format.ts';
import { asText as explainText } from '../../src/cli/explain/render.ts';
import { asDot, asMermaid, asText as graphText } from '../../src/cli/graph/render.ts';
import { impactText } from '../../src/cli/impact/render.ts';
import { listText as operatorsText, statusText as operatorText } from '../../src/cli/operators/show.ts';
import { listText as rolloutsText, statusText as rolloutText } from '../../src/cli/rollout/show.ts';
import { linesBetween } from '../../src/cli/rollout/watch.ts';
import { asJunit } from '../../src/cli/test/junit.ts';
import { asText as testText } from '../../src/cli/test/render.ts';
import { messageOf } from '../../src/reconcile/operators/mail/message.ts';
import { connect, loadKubeconfig, mergeConditions, type UnknownObject } from '../../src/runtime/index.ts';
import { events } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type PolicyPlane, patient, policyObject, startPolicyPlane } from '../live-policies/support/platform.ts';

const hostile = [
  { reason: 'a forged line', text: 'evil\nkidp: approved by root' },
  { reason: 'a workflow command of GitHub', text: 'evil\n::add-mask::x\r\n::error file=a::b' },
  { reason: 'an old workflow command of GitHub', text: 'evil ##[stop-commands]x' },
  { reason: 'a cleared screen', text: 'evil\u001b[2J\u001b[1;1H' },
  { reason: 'a window title', text: 'evil\u001b]0;title\u0007' },
  { reason: 'an eight-bit command', text: 'evil\u009b2J\u0085' },
  { reason: 'a reversed name', text: 'evil\u202etxt.exe\u2066' },
  { reason: 'an overwritten line', text: 'evil\rdenied' },
  { reason: 'a separator', text: 'evil\u2028\u2029b' },
  { reason: 'a header of a mail', text: 'evil\r\nBcc: all@company.com' },
  { reason: 'a formula', text: '=cmd|evil!A1' },
  { reason: 'markup', text: '"]; <script>evil</script> --> x' },
];

/** What must reach neither a terminal, nor a file that people open, nor an object: line breaks and tabs aside. */
const unsafe = /(?!\n|\t|\r\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** The output as `kidp` writes it on a terminal, where our own colours are allowed. */
function onTerminal(text: string): string {
  const written: string[] = [];
  escaping({ write: (part) => written.push(part), isTTY: true }).write(text);
  return written.join('');
}

const finding = (text: string): CheckResult =>
  ({
    policy: text,
    rule: text,
    resource: { apiVersion: 'v1', kind: text, namespace: text, name: text, file: 'a.yaml', line: 1, column: 1 },
    result: 'fail',
    message: text,
    why: text,
    denies: true,
  }) as CheckResult;
const report = (text: string) => ({
  results: [finding(text), { ...finding(text), policy: '', rule: '', result: 'skip' as const, denies: false }],
  problems: [],
  objects: 2,
  failOn: 'deny' as const,
  quiet: false,
  colour: false,
  version: '1',
});
const graph = (text: string) => ({
  nodes: [{ id: `Service ${text}`, kind: 'Service', name: text, phase: text }],
  edges: [{ from: `Service ${text}`, to: `Service ${text}`, relation: 'uses' as const, state: 'bound' as const }],
  suggestions: [
    { for: text, reason: 'shared' as never, message: text, field: text, selector: { matchLabels: { [text]: text } } },
  ],
});
const costs = (text: string) => ({
  month: '2026-01',
  rows: [
    {
      ...{ month: '2026-01', team: text, application: text, kind: 'Database', namespace: text, name: text },
      ...{ state: 'live' as const, currency: 'EUR', amount: '1', costTags: { [text]: text } },
    },
  ],
  totals: [{ team: text, currency: 'EUR', amount: '1' }],
});
const impact = (text: string) => ({
  ...{ objects: 1, matched: 1, denied: 1, warned: 0, missing: [text], complete: true, seconds: 1 },
  rules: [
    {
      ...{ policy: text, rule: text, denied: 1, warned: 0, audited: 0, errors: 0, excepted: 0, skipped: 0 },
      first: [{ apiVersion: 'v1', kind: text, namespace: text, name: text, message: text }],
    },
  ],
});
const explanation = (text: string) => [
  {
    resource: finding(text).resource,
    changes: [{ op: text, path: text, value: text }],
    policies: [
      {
        ...{ policy: text, policyKind: 'Policy', matched: 'yes', match: [], conditions: [], variables: [] },
        rules: [{ name: text, picture: text, results: [finding(text)] }],
      },
    ],
  },
];
const tested = (text: string) => [
  {
    ...{ policy: text, file: text, line: 1, column: 1, tests: [], rules: [] },
    issues: [{ severity: 'error', code: text, path: text, message: text, file: text, line: 1, column: 1 }],
    coverage: { percent: 1, covered: 1, total: 1, missing: [] },
  },
];
const compared = (text: string): CrdReport =>
  ({
    compared: [
      {
        name: text,
        before: undefined,
        after: undefined,
        verdict: {
          ...{ name: text, verdict: 'breaking', digest: 'sha256:0' },
          changes: [
            {
              ...{ version: 'v1', path: `.spec.${text}`, kind: 'enum-narrowed', class: 'breaking', message: text },
              ...{ storedObjects: 'breaking', manifests: 'breaking', hits: text, advice: text },
              ...{ before: [text], after: [], decidedBy: 'acceptance' },
              witness: { outcome: 'refused', object: { spec: text }, because: text },
            },
          ],
        },
        objects: { checked: 1, broken: 1, first: [{ namespace: text, name: text, reasons: [text], paths: ['.spec'] }] },
      },
    ],
    ...{ problems: [], failOn: 'breaking', quiet: false, colour: false, version: '1', against: text },
  }) as never;
const rollout = (text: string) => ({
  ...{ name: text, id: text, operator: text, version: text, strategy: 'Canary', phase: 'Failed', paused: false },
  ...{ stage: 1, stages: 1, clusters: { total: 1, healthy: 0, failed: 1, skipped: 0, rolledBack: 0 } },
  ...{ reason: text, message: text, created: undefined, started: undefined, finished: undefined },
  stageList: [
    {
      ...{ number: 1, name: text },
      clusters: [
        {
          ...{ name: text, environment: 'Dev', state: 'Failed', fromVersion: text, message: text },
          ...{ checks: 1, checksPassed: 0, failuresInRow: 1, healthySince: undefined },
        },
      ],
    },
  ],
  approvals: [{ name: text, type: 'Rollout', outcome: 'Pending' }],
  rollback: undefined,
  history: [{ at: '2026-01-01T00:00:00Z', what: text, cluster: text }],
});
const operatorReport = (text: string) => ({
  ...{ name: text, id: text, chart: text, namespace: text, newest: text, installations: 1, healthyInstallations: 0 },
  ...{ ready: false, reason: text, message: text, checked: undefined },
  versions: [
    { ...{ version: text, chartVersion: text, state: text, compatibility: text, definitions: 1, message: text } },
  ],
  clusters: [
    {
      ...{ cluster: text, version: text, health: 'Unhealthy', pods: text, controllerPods: 1, webhook: text },
      ...{ reconciliation: text, since: undefined, deployment: text, message: text },
    },
  ],
});

type Shape = (shown: string) => unknown;
/** The number of lines: a text of others adds none. */
const lines: Shape = (shown) => shown.split(/\r?\n/).length;
/** The elements: a text of others adds none. */
const elements: Shape = (shown) => shown.match(/<[/?!]?[\w-]*/g);
/** The structure of a value, whatever its texts are. */
const structure = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(structure);
  return typeof value === 'object' && value !== null ? Object.values(value).map(structure) : typeof value;
};
const json: Shape = (shown) => structure(JSON.parse(shown));
const yaml: Shape = (shown) => structure(parse(shown));

/** What is not in code: elements, and the lines, with which a table or a summary ends. */
const markdown: Shape = (shown) => {
  const prose = shown.replace(/^(`{3,})[\s\S]*?^\1$/gm, '').replace(/`[^`\n]*`/g, '');
  return [lines(prose), elements(prose)];
};
/** The lines that are not indented: a message may have several lines below its own. */
const heads: Shape = (shown) => shown.split(/\r?\n/).filter((line) => /^\S/.test(line)).length;
/** Lines without the example of `kidp crd diff`, which is YAML. */
const withoutExample: Shape = (shown) => lines(shown.replace(/^ {6}.*\n/gm, ''));

const shapes: Readonly<Record<string, Shape>> = { json, sarif: json, yaml, junit: elements, markdown };

/** Each renderer, and what a hostile text must not change of the output for a harmless one. */
const sinks: { sink: string; write: (text: string) => string | Promise<string>; shape: Shape }[] = [
  ...outputFormats.map((name) => ({
    sink: `kidp check -o ${name}`,
    write: (text: string) => checkFormat(report(text), name),
    shape: shapes[name] ?? lines,
  })),
  ...crdFormats.map((name) => ({
    sink: `kidp crd diff -o ${name}`,
    write: (text: string) => crdFormat(compared(text), name),
    shape: shapes[name] ?? (name === 'text' ? withoutExample : lines),
  })),
  { sink: 'kidp graph', write: (text) => graphText(graph(text)), shape: lines },
  { sink: 'kidp graph -o dot', write: (text) => asDot(graph(text)), shape: lines },
  { sink: 'kidp graph -o mermaid', write: (text) => asMermaid(graph(text)), shape: lines },
  { sink: 'kidp cost', write: (text) => asTable(costs(text)), shape: lines },
  { sink: 'kidp cost -o csv', write: (text) => asCsv(costs(text)), shape: lines },
  { sink: 'kidp impact', write: (text) => impactText(impact(text) as never), shape: lines },
  { sink: 'kidp explain', write: (text) => explainText(explanation(text) as never), shape: heads },
  { sink: 'kidp test', write: (text) => testText(tested(text) as never, { coverage: false }), shape: heads },
  { sink: 'kidp test -o junit', write: (text) => asJunit(tested(text) as never, 80), shape: elements },
  { sink: 'kidp rollout list', write: (text) => rolloutsText([rollout(text)] as never, 0), shape: lines },
  { sink: 'kidp rollout status', write: (text) => rolloutText(rollout(text) as never, 0), shape: lines },
  {
    sink: 'kidp rollout watch',
    write: (text) => linesBetween(undefined, rollout(text) as never).join('\n'),
    shape: lines,
  },
  { sink: 'kidp operator list', write: (text) => operatorsText([operatorReport(text)] as never), shape: lines },
  { sink: 'kidp operator status', write: (text) => operatorText(operatorReport(text) as never), shape: lines },
  { sink: 'tables of clusters', write: (text) => table(['A'], [[text]]), shape: lines },
  { sink: 'facts of clusters', write: (text) => facts([['A', text]]), shape: lines },
  { sink: 'YAML of all other commands', write: (text) => safeYaml({ [text]: text }), shape: yaml },
  { sink: 'JSON of all other commands', write: (text) => JSON.stringify({ [text]: text }, null, 2), shape: json },
];

describe.each(sinks)('$sink', ({ sink, write, shape }) => {
  test.each(hostile)('$reason is only text', async ({ text }) => {
    const shown = onTerminal(await write(text));
    expect(shown).not.toMatch(unsafe);
    expect(shown).toContain('evil');
    expect(shape(shown)).toEqual(shape(onTerminal(await write('harmless'))));
    if (!sink.endsWith('github')) expect(shown).not.toMatch(/^::/m);
  });
});

describe('formats of programs', () => {
  test.each(hostile)('$reason is one annotation of GitHub', async ({ text }) => {
    const output = await checkFormat(report(text), 'github');
    const commands = output.split('\n').filter((line) => line.startsWith('::'));
    expect(commands).toHaveLength(1);
    // A line that is no command itself must not contain one of the old form.
    expect(output.split('\n').filter((line) => !line.startsWith('::') && line.includes('##['))).toEqual([]);
  });
  test.each(hostile)('$reason keeps its value in JSON and YAML', ({ text }) => {
    const json = onTerminal(JSON.stringify({ text }));
    expect(JSON.parse(json)).toEqual({ text });
    expect(parse(onTerminal(safeYaml({ text })))).toEqual({ text });
  });
  test('a formula is text in CSV', () => expect(asCsv(costs('=1+1'))).not.toMatch(/(?:^|,)=/m));
  test('a name ends no string of DOT or Mermaid', () => {
    const [dot, mermaid] = [asDot(graph('"]; evil -> x')), asMermaid(graph('"] --> evil'))];
    expect(dot).toContain('\\"]; evil -> x');
    expect(mermaid).toContain('#34;#93; --#62; evil');
  });
});

describe('what is logged, sent and stored', () => {
  test.each(hostile)('$reason is one line of the log', ({ text }) => {
    const written: string[] = [];
    logTo({ write: (line) => written.push(line) }, 'info').info('denied', { user: text, [text]: 1 });
    expect(written).toHaveLength(1);
    expect(written[0]?.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(JSON.parse(written[0] ?? '')).toMatchObject({ user: text });
  });

  test.each(hostile)('$reason is no header of a mail', ({ text }) => {
    const spec = { subject: { kind: 'A', name: text, digest: 'd' }, requester: text, reason: text, notify: ['a@b.c'] };
    const message = messageOf({ metadata: { name: 'a', uid: 'u' }, spec } as unknown as Approval, 'company.com');
    expect(message?.subject).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(message?.text).not.toMatch(unsafe);
    expect(message?.text.split('\n')[0]).toMatch(/ requests approval of .*\.$/);
  });

  test.each(hostile)('$reason is no command in a condition or in the response of the webhook', ({ text }) => {
    const desired = { type: 'Ready', status: 'False' as const, reason: 'Denied', message: text };
    expect(mergeConditions([], [desired]).conditions[0]?.message).not.toMatch(unsafe);
    const violations = [{ gate: 'policy', code: 'c', field: text, message: text, next: text }];
    const decision = { allowed: false, violations, warnings: [text], patches: [], auditAnnotations: { a: text } };
    const { response } = JSON.parse(encodeReview('u', decision));
    for (const said of [
      response.status.message,
      response.status.details.causes[0].field,
      response.status.details.causes[0].message,
      response.warnings[0],
      response.auditAnnotations.a,
    ]) {
      expect(said).not.toMatch(unsafe);
    }
  });
});

describe('on a real API server', () => {
  let live: PolicyPlane;
  beforeAll(async () => {
    live = await startPolicyPlane();
    await live.start();
    const rules = [{ name: 'rule', expression: 'false', messageExpression: `'no ' + object.data.a`, message: 'no' }];
    const spec = { selector: { resourceTypes: ['core/v1/ConfigMap'], namespaces: ['default'] }, rules };
    expect(await live.kubectl(['apply', '-f', '-'], { input: policyObject('none', spec) })).toMatchObject({ code: 0 });
    await live.untilReady('none');
  });
  afterAll(() => live?.stop());

  const denials = async () =>
    (await live.client.list<UnknownObject & { note: string; series?: { count: number } }>(events)).items.filter(
      ({ reason }) => reason === 'PolicyDenied',
    );
  const configMap = (name: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default' },
    data: { a: 'value\u001b[2J\u202e\u0085.' },
  });
  const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

  test('a user name, an object name and a value with control characters are stored and answered without them', async () => {
    // A certificate may contain any name; the API server takes it as it is.
    const name = 'eve\nroot\u001b[2J\u202e';
    const user = { name, groups: ['system:masters'] };
    const eve = connect(loadKubeconfig({ file: await live.plane.kubeconfigFor(user) }));
    try {
      const { text } = await eve.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      });
      expect(JSON.parse(text).status.userInfo.username).toBe(name);
      // Names are validated after mutating admission only, so that the webhook sees this one.
      const refusals: string[] = [];
      for (const object of ['plain', 'evil\nname\u009b']) {
        await eve.create(configMaps, configMap(object)).catch((error: Error) => refusals.push(error.message));
      }
      expect(refusals).toHaveLength(2);
      expect(refusals[0]).toContain('no value');
      expect(refusals[0]).not.toMatch(unsafe);
      const [stored] = await eventually(async () => {
        const found = await denials();
        return found.length >= 1 ? found : false;
      }, patient);
      expect(JSON.stringify(await denials())).not.toMatch(/\\u00|[\u0080-\u009f\u202e]|\\n/);
      expect(stored?.note).toContain('CREATE by eve root [2J  denied by policy none');
    } finally {
      await eve.close();
    }
  });

  test('150 denials of one user about one object are one Event, about 150 objects a few; another user has their own', async () => {
    const before = (await denials()).length;
    const [eve, ada] = ['loud', 'quiet'].map((user) => live.client.impersonate({ user, groups: ['system:masters'] }));
    for (let count = 0; count < 150; count += 1) await eve?.create(configMaps, configMap('same')).catch(() => {});
    await eventually(async () => {
      const same = (await denials()).filter(({ regarding }) => (regarding as { name: string }).name === 'same');
      expect(same.map(({ series }) => series?.count)).toEqual([150]);
    }, patient);
    for (let count = 0; count < 150; count += 1) {
      await eve?.create(configMaps, configMap(`other-${count}`)).catch(() => {});
    }
    await ada?.create(configMaps, configMap('same')).catch(() => {});
    await eventually(async () => {
      expect((await denials()).filter(({ note }) => note.includes('by quiet denied'))).toHaveLength(1);
    }, patient);
    expect((await denials()).length - before).toBeLessThan(40);
  });
});
