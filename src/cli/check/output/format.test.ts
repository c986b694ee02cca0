/** What each format promises to whoever reads it; what they say is in src/cli/check/golden. */
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { CheckResult } from '../result.ts';
import { format, outputFormats, type Report } from './format.ts';

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('a\nb', '::error::x', ']]>', '<a b="c">&amp;', '%0A', 'ä\u0000'),
);
const result: fc.Arbitrary<CheckResult> = fc.record(
  {
    policy: text,
    rule: text,
    resource: fc.record(
      {
        apiVersion: text,
        kind: text,
        namespace: text,
        name: text,
        file: text,
        line: fc.integer({ min: 1 }),
        column: fc.integer({ min: 1 }),
      },
      { requiredKeys: ['apiVersion', 'kind', 'name', 'file', 'line', 'column'] },
    ),
    result: fc.constantFrom('pass', 'fail', 'warn', 'error', 'skip'),
    message: text,
    denies: fc.boolean(),
    why: text,
    field: text,
    severity: text,
    category: text,
    known: fc.constant(true as const),
  },
  { requiredKeys: ['policy', 'rule', 'resource', 'result', 'message', 'denies'] },
);
const problem = fc.record(
  { code: text, file: text, line: fc.integer({ min: 1 }), message: text },
  { requiredKeys: ['code', 'file', 'message'] },
);
const report: fc.Arbitrary<Report> = fc.record(
  {
    results: fc.array(result, { maxLength: 5 }),
    problems: fc.array(problem, { maxLength: 2 }),
    objects: fc.nat(),
    failOn: fc.constantFrom('deny', 'warn'),
    base: text,
    quiet: fc.boolean(),
    colour: fc.constant(false),
    version: fc.constant('1.2.3'),
  },
  { requiredKeys: ['results', 'problems', 'objects', 'failOn', 'quiet', 'colour', 'version'] },
);

const location = {
  type: 'object',
  required: ['physicalLocation'],
  properties: {
    physicalLocation: {
      type: 'object',
      required: ['artifactLocation'],
      properties: {
        artifactLocation: { type: 'object', required: ['uri'], properties: { uri: { type: 'string' } } },
        region: {
          type: 'object',
          required: ['startLine'],
          properties: { startLine: { type: 'integer', minimum: 1 }, startColumn: { type: 'integer', minimum: 1 } },
        },
      },
    },
  },
};
const message = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } };
/** What SARIF 2.1.0 requires of what we write, and what GitHub requires beyond it. */
const sarif = new Ajv().compile({
  type: 'object',
  required: ['version', 'runs', '$schema'],
  properties: {
    version: { const: '2.1.0' },
    runs: {
      type: 'array',
      items: {
        type: 'object',
        required: ['tool', 'results'],
        properties: {
          columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
          tool: {
            type: 'object',
            required: ['driver'],
            properties: {
              driver: {
                type: 'object',
                required: ['name', 'rules'],
                properties: {
                  rules: {
                    type: 'array',
                    items: {
                      type: 'object',
                      required: ['id', 'shortDescription'],
                      properties: { id: { type: 'string' }, shortDescription: message },
                    },
                  },
                },
              },
            },
          },
          invocations: {
            type: 'array',
            items: {
              type: 'object',
              required: ['executionSuccessful'],
              properties: {
                executionSuccessful: { type: 'boolean' },
                toolExecutionNotifications: {
                  type: 'array',
                  items: {
                    type: 'object',
                    required: ['message'],
                    properties: {
                      message,
                      level: { enum: ['none', 'note', 'warning', 'error'] },
                      locations: { type: 'array', items: location },
                    },
                  },
                },
              },
            },
          },
          results: {
            type: 'array',
            items: {
              type: 'object',
              required: ['message', 'ruleId', 'locations', 'partialFingerprints'],
              properties: {
                message,
                ruleId: { type: 'string' },
                ruleIndex: { type: 'integer', minimum: 0 },
                level: { enum: ['none', 'note', 'warning', 'error'] },
                baselineState: { enum: ['new', 'unchanged', 'updated', 'absent'] },
                locations: { type: 'array', minItems: 1, items: location },
                partialFingerprints: { type: 'object', additionalProperties: { type: 'string' } },
              },
            },
          },
        },
      },
    },
  },
});

describe('any report', () => {
  const promises: { [Format in (typeof outputFormats)[number]]: (written: string, given: Report) => void } = {
    text: (written, { colour }) => expect(colour || !written.includes('\u001b[3')).toBe(true),
    json: (written, given) => expect(JSON.parse(written)).toHaveLength(shown(given)),
    yaml: (written, given) => expect(parse(written)).toHaveLength(shown(given)),
    sarif(written) {
      const log = JSON.parse(written);
      expect(sarif(log), JSON.stringify(sarif.errors)).toBe(true);
      const [{ tool, results }] = log.runs;
      for (const { ruleId, ruleIndex } of results) expect(tool.driver.rules[ruleIndex].id).toBe(ruleId);
      expect(new Set(tool.driver.rules.map(({ id }: { id: string }) => id)).size).toBe(tool.driver.rules.length);
    },
    junit: (written, { results, problems }) => {
      expect(elements(written).get('testcase') ?? 0).toBe(results.length + problems.length);
    },
    github(written, { results, problems }) {
      const commands = written.split('\n').filter((line) => line.startsWith('::'));
      const findings = results.filter(({ result }) => ['fail', 'warn', 'error'].includes(result));
      expect(commands.length).toBeGreaterThanOrEqual(findings.length + problems.length);
      for (const command of commands.slice(0, findings.length + problems.length)) {
        expect(command).toMatch(/^::(?:error|warning|notice) file=[^:,]*,(?:line=\d+,)?(?:col=\d+,)?title=[^:,]*::/);
      }
    },
  };
  test.each(outputFormats)('%s can be read by a program', async (name) => {
    await fc.assert(
      fc.asyncProperty(report, async (given) => {
        promises[name](await format(given, name), given);
      }),
      { numRuns: 150 },
    );
  });
});

const shown = ({ results, quiet }: Report) =>
  results.filter(({ result }) => !quiet || (result !== 'pass' && result !== 'skip')).length;

/** How many there are of each element, once it is sure that they open and close as XML wants it. */
function elements(xml: string): Map<string, number> {
  const counts = new Map<string, number>();
  const open: string[] = [];
  const token =
    /<\?xml[^>]*\?>\n|<(\/?)([a-z-]+)((?: [a-z]+="[^"<&]*(?:&(?:amp|lt|gt|quot|#10);[^"<&]*)*")*)(\/?)>|[^<>&]+|&(?:amp|lt|gt|quot|#10);/y;
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex;
    const match = token.exec(xml);
    if (match === null) throw new Error(`no XML at ${xml.slice(at, at + 40)}`);
    const [, end, name, , empty] = match;
    if (name === undefined) continue;
    if (end === '/') expect(open.pop()).toBe(name);
    else {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      if (empty !== '/') open.push(name);
    }
  }
  expect(open).toEqual([]);
  return counts;
}
