import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pack } from './archive.ts';
import { renderChart } from './render.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-render-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const bytes = pack('chart', new Map([['templates/a.yaml', Buffer.from('a: {{ .Values.password }}')]]));

/** A program that prints what Helm would. */
function helm(output: string, code: number) {
  const program = join(folder, 'helm');
  writeFileSync(join(folder, 'said'), output);
  writeFileSync(program, `#!/bin/sh\ncat '${folder}/said' ${code === 0 ? '' : '>&2'}\nexit ${code}\n`);
  chmodSync(program, 0o755);
  return { program, version: 'v4.3.1', major: 4 };
}

test.each([
  {
    reason: 'a template that transforms a value',
    said: 'Error: execution error at (shop/templates/a.yaml:1:6): no 2retnuh',
    code: 1,
    place: ' at templates/a.yaml:1:6;',
  },
  {
    reason: 'YAML that quotes the line',
    said: 'Error: YAML parse error on shop/templates/a.yaml: could not find 2retnuh',
    code: 1,
    place: ' at templates/a.yaml;',
  },
  { reason: 'a location outside of the chart', said: 'Error: at x/2retnuh/a.yaml:1', code: 1, place: '' },
  {
    reason: 'a kind made from a value',
    said: '---\n# Source: shop/templates/a.yaml\napiVersion: v1\nkind: 2retnuh\n',
    code: 0,
    place: ' at templates/a.yaml;',
  },
])('values of a Secret: $reason reports the location and nothing else', async ({ said, code, place }) => {
  const input = { bytes, releaseName: 'shop', namespace: 'shops', values: [{ password: 'hunter2' }] };
  const rendering = renderChart(helm(said, code), { ...input, hasSecrets: true });
  await expect(rendering).rejects.toMatchObject({
    code: 'chart/does-not-render',
    message: expect.stringContaining(`it fails${place}`),
  });
  await expect(rendering).rejects.not.toThrow(/2retnuh|hunter2/);
  await expect(renderChart(helm(said, code), input)).rejects.toThrow(/a\.yaml|…/);
});
