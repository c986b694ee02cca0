/** Properties of each output format that hold for every definition. The expected texts are in src/cli/crd/golden. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Change, changeKinds, worst } from '../../../crd-compat/index.ts';
import type { Compared } from '../compare.ts';
import type { Definition } from '../definitions.ts';
import { type CrdReport, crdFormats, format } from './format.ts';

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'a\nb',
    '::error::x',
    '<script>alert(1)</script>',
    '</details>',
    '```',
    '| x |',
    '%0A',
    '@everyone',
    '`a`',
  ),
);
const classes = fc.constantFrom('breaking', 'risky', 'safe');
const change: fc.Arbitrary<Change> = fc.record(
  {
    version: fc.constantFrom('v1', ''),
    path: fc.oneof(fc.constantFrom('.spec.size', '.', 'spec.scope', 'spec.versions[v1].served'), text),
    kind: fc.constantFrom(...changeKinds),
    class: classes,
    before: fc.jsonValue(),
    after: fc.jsonValue(),
    storedObjects: classes,
    manifests: classes,
    message: text,
    hits: text,
    advice: text,
    decidedBy: fc.constantFrom('acceptance', 'syntax'),
    witness: fc.record(
      {
        outcome: fc.constantFrom('refused', 'pruned', 'request-fails'),
        object: fc.dictionary(text, text),
        because: text,
      },
      { requiredKeys: ['outcome', 'because'] },
    ),
  },
  {
    requiredKeys: [
      'version',
      'path',
      'kind',
      'class',
      'storedObjects',
      'manifests',
      'message',
      'hits',
      'advice',
      'decidedBy',
    ],
  },
);

const definition = (file: string): Definition => ({
  name: 'widgets.example.com',
  path: file,
  crd: {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  },
  origin: { file, place: () => ({ line: 3, column: 5 }), lineAt: () => '    a: <b>' },
});

const compared: fc.Arbitrary<Compared> = fc
  .record({
    changes: fc.array(change, { maxLength: 5 }),
    file: text,
    isNew: fc.boolean(),
    isGone: fc.boolean(),
    isAlone: fc.boolean(),
    reason: text,
  })
  .map(({ changes, file, isNew, isGone, isAlone, reason }) => ({
    name: 'widgets.example.com',
    ...(isAlone ? {} : { file }),
    ...(isNew ? {} : { before: definition(file) }),
    ...(isGone ? {} : { after: definition(file) }),
    verdict: {
      name: 'widgets.example.com',
      verdict: worst(changes.map((each) => each.class)),
      changes,
      digest: 'sha256:0',
    },
    objects: { checked: 2, broken: 1, first: [{ namespace: 'shop', name: 'a', reasons: [reason], paths: ['.spec'] }] },
  }));

const report: fc.Arbitrary<CrdReport> = fc.record({
  compared: fc.array(compared, { minLength: 1, maxLength: 3 }),
  problems: fc.array(fc.record({ code: text, file: text, line: fc.nat(), message: text }), { maxLength: 1 }),
  failOn: fc.constantFrom('breaking', 'risky'),
  quiet: fc.boolean(),
  colour: fc.constant(false),
  version: fc.constant('1.2.3'),
  against: text,
});

const serious = (given: CrdReport): number =>
  given.compared.flatMap(({ verdict }) => verdict.changes).filter((each) => each.class !== 'safe').length;
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const fields =
  'version path kind class before after storedObjects manifests message hits advice decidedBy witness'.split(' ');

const promises: { [Format in (typeof crdFormats)[number]]: (written: string, given: CrdReport) => void } = {
  text: (written) => expect(written.includes('\u001b[3')).toBe(false),
  json(written, given) {
    const read = JSON.parse(written);
    const all = given.compared.length === 1 ? [read] : read;
    expect(all).toHaveLength(given.compared.length);
    for (const [index, { changes }] of all.entries()) {
      expect(changes).toHaveLength(given.compared[index]?.verdict.changes.length ?? 0);
      for (const each of changes) expect(Object.keys(each)).toEqual(fields);
    }
  },
  yaml: (written, given) => {
    const read = parse(written);
    const [first] = given.compared;
    const changes = (given.compared.length === 1 ? read : read[0]).changes;
    expect(plain(changes.map((each: Change) => each.advice))).toEqual(
      first?.verdict.changes.map((each) => each.advice),
    );
  },
  sarif(written, given) {
    const [{ tool, results, invocations }] = JSON.parse(written).runs;
    expect(results).toHaveLength(serious(given));
    for (const { ruleId, ruleIndex } of results) expect(tool.driver.rules[ruleIndex].id).toBe(ruleId);
    expect(invocations[0].executionSuccessful).toBe(given.problems.length === 0);
  },
  github(written, given) {
    const lines = written.split('\n').filter((line) => line !== '');
    const commands = lines.filter((line) => line.startsWith('::'));
    expect(lines.length - commands.length).toBe(given.quiet || given.problems.length > 0 ? 0 : 1);
    for (const command of commands) {
      expect(command).toMatch(/^::(?:error|warning) (?:file=[^:,]*,)?(?:line=\d+,)?(?:col=\d+,)?title=[^:,]*::/);
    }
  },
  markdown(written) {
    let fence: string | undefined;
    for (const line of written.split('\n')) {
      const [run = ''] = /^`{3,}/.exec(line) ?? [];
      if (fence !== undefined) {
        if (line === fence) fence = undefined;
      } else if (run !== '') fence = run;
      else {
        // Outside of code blocks, only the markup of the formatter itself is allowed.
        expect(line.replace(/`+[^`]*`+|`` .* ``/g, '').replace(/<\/?(?:details|summary)>/g, '')).not.toMatch(
          /<[a-z/!]/i,
        );
      }
    }
    expect(fence).toBe(undefined);
    expect(written.match(/^<details>$/gm)?.length).toBe(written.match(/^<\/details>$/gm)?.length);
  },
};

test.each(crdFormats)('%s is well-formed', async (name) => {
  await fc.assert(
    fc.asyncProperty(report, async (given) => {
      promises[name](await format(given, name), given);
    }),
    { numRuns: 100 },
  );
});

test.each(crdFormats)('%s marks changes that were decided by syntax', async (name) => {
  const judged = (decidedBy: Change['decidedBy']): CrdReport => {
    const changes: Change[] = [
      {
        version: 'v1',
        path: '.spec.size',
        kind: 'rule-added',
        class: 'risky',
        storedObjects: 'risky',
        manifests: 'risky',
        message: 'A rule was added.',
        hits: 'objects that fail it',
        advice: 'Leave it out.',
        decidedBy,
      },
    ];
    const verdict = { name: 'widgets.example.com', verdict: 'risky', changes, digest: 'sha256:0' } as const;
    const [before, after] = [definition('old.yaml'), definition('new.yaml')];
    return {
      compared: [{ name: 'widgets.example.com', before, after, verdict }],
      problems: [],
      failOn: 'breaking',
      quiet: false,
      colour: false,
      version: '1.2.3',
      against: 'old.yaml',
    };
  };
  const says = /based on syntax, not on the accepted values|"?decidedBy"?: "?syntax/;
  expect(await format(judged('syntax'), name)).toMatch(says);
  expect(await format(judged('acceptance'), name)).not.toMatch(says);
});
