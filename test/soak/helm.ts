/**
 * `kidp crd diff` and `kidp check` on charts, with the real Helm. It is built from its own sources (about five minutes of processor time), so it is no
 * part of `npm test`, which plays back what it says.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ensureAssets, renderProgress } from '../../src/controlplane/index.ts';
import { runCheck } from '../support/check-command.ts';
import { runCrd } from '../support/crd-command.ts';

const definition = (plural: string, maximum: number) => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ${plural}, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {size: {type: integer, maximum: ${maximum}}}}
`;

const policy = `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: small}
spec:
  selector: {resourceTypes: [core/v1/ConfigMap]}
  rules:
  - {name: small, expression: size(object.data) <= 1, message: Too much.}
`;

const chart = (name: string, more = '') => `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n${more}`;

export async function run({ log }: { log: (line: string) => void }): Promise<void> {
  const { helm } = await ensureAssets(['helm'], { onProgress: renderProgress(process.stderr) });
  const directory = mkdtempSync(join(tmpdir(), 'kidp-helm-'));
  const path = process.env.PATH;
  process.env.PATH = `${dirname(helm)}${delimiter}${path}`;
  try {
    const dependency = 'dependencies:\n- {name: sub, version: 1.0.0, condition: sub.enabled}\n';
    write(directory, {
      'sub/Chart.yaml': chart('sub'),
      'sub/crds/gizmos.yaml': definition('gizmos', 2),
      'shop/Chart.yaml': chart('shop', dependency),
      'shop/crds/widgets.yaml': definition('widgets', 2),
      'shop/templates/gadgets.yaml': `{{- if .Values.definitions }}\n${definition('gadgets', 2)}{{- end }}\n`,
      'shop/templates/config.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {a: "1", b: "2"}\n',
      'new/widgets.yaml': definition('widgets', 1),
      'new/gadgets.yaml': definition('gadgets', 3),
      'new/gizmos.yaml': definition('gizmos', 2),
      'policy.yaml': policy,
    });
    execFileSync(helm, ['package', join(directory, 'sub'), '--destination', join(directory, 'shop/charts')]);
    execFileSync(helm, ['package', join(directory, 'shop'), '--destination', directory]);
    const verdicts = async (...words: string[]) => {
      const { out, err } = await runCrd(['diff', ...words, '-o', 'json'], { directory });
      assert.equal(err, '');
      return JSON.parse(out).map(({ name, verdict, changes }: Verdict) => `${name} ${verdict} ${changes[0]?.kind}`);
    };
    for (const form of ['shop', 'shop-1.0.0.tgz']) {
      const [gadgets, gizmos, widgets] = ['gadgets.example.com', 'gizmos.example.com', 'widgets.example.com'];
      assert.deepEqual(await verdicts(form, 'new', '--set', 'definitions=true'), [
        `${gadgets} safe maximum-raised`,
        `${gizmos} safe undefined`,
        `${widgets} breaking maximum-lowered`,
      ]);
      assert.deepEqual(await verdicts(form, 'new', '--set', 'sub.enabled=false'), [
        `${gadgets} safe crd-created`,
        `${gizmos} safe crd-created`,
        `${widgets} breaking maximum-lowered`,
      ]);
      log(`${form}: crds/, templates and subcharts are compared as Helm installs them`);
    }
    const { code, out } = await runCheck(['-f', 'policy.yaml', '-f', 'shop'], { directory });
    assert.equal(code, 1);
    assert.match(out, /^shop\/templates\/config\.yaml:1:1: denied: ConfigMap shop: small \(small\): Too much/);
    log('kidp check names the template of a finding');
  } finally {
    process.env.PATH = path;
    rmSync(directory, { recursive: true });
  }
}

interface Verdict {
  name: string;
  verdict: string;
  changes: { kind: string }[];
}

function write(directory: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}
