/** Charts, with the real Helm: what the command line says of them, and how the gate of definitions answers to an install and an upgrade. */
import { execFileSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { eventually } from '../../src/runtime/testing/index.ts';
import { definitions } from '../admission/support/platform.ts';
import {
  type Definition,
  deep,
  type GatePlane,
  objectOf,
  patient,
  resourceOf,
  size,
  startGatePlane,
  widgets,
} from '../crd-gate/support/platform.ts';
import { runCheck } from '../support/check-command.ts';
import { sharedCluster } from '../support/cluster.ts';
import { runCrd, widget } from '../support/crd-command.ts';
import { chartNamed, type Helm, realHelm } from '../support/helm.ts';

let charts: Helm;
beforeAll(async () => {
  charts = await realHelm();
});
afterAll(() => charts?.remove());

describe('on the command line', () => {
  beforeAll(async () => {
    const dependency = 'dependencies:\n- {name: sub, version: 1.0.0, condition: sub.enabled}\n';
    charts.write({
      'sub/Chart.yaml': chartNamed('sub'),
      'sub/crds/gizmos.yaml': widget(2, 'gizmos'),
      'shop/Chart.yaml': chartNamed('shop', dependency),
      'shop/crds/widgets.yaml': widget(2),
      'shop/templates/gadgets.yaml': `{{- if .Values.definitions }}\n${widget(2, 'gadgets')}{{- end }}\n`,
      'shop/templates/config.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {a: "1", b: "2"}\n',
      'new/widgets.yaml': widget(1),
      'new/gadgets.yaml': widget(3, 'gadgets'),
      'new/gizmos.yaml': widget(2, 'gizmos'),
      'policy.yaml': stringify({
        apiVersion: 'platform.company.com/v1',
        kind: 'Policy',
        metadata: { name: 'small' },
        spec: {
          selector: { resourceTypes: ['core/v1/ConfigMap'] },
          rules: [{ name: 'small', expression: 'size(object.data) <= 1', message: 'Too much.' }],
        },
      }),
    });
    for (const words of [
      ['package', 'sub', '--destination', 'shop/charts'],
      ['package', 'shop', '--destination', '.'],
    ]) {
      expect(await charts.helm(words)).toMatchObject({ code: 0 });
    }
  });
  beforeEach(() => void vi.stubEnv('PATH', `${charts.folder}${delimiter}${process.env.PATH}`));
  afterEach(() => void vi.unstubAllEnvs());

  const verdicts = async (...words: string[]) => {
    const { out, err } = await runCrd([...words, '-o', 'json'], { directory: charts.directory });
    const reported = JSON.parse(out) as { name: string; verdict: string; changes: { kind: string }[] }[];
    return { err, reported: reported.map(({ name, verdict, changes }) => `${name} ${verdict} ${changes[0]?.kind}`) };
  };

  test.each([
    'shop',
    'shop-1.0.0.tgz',
  ])('%s: crds/, templates and subcharts are compared as Helm installs them', async (form) => {
    expect(await verdicts('diff', form, 'new', '--set', 'definitions=true')).toEqual({
      err: '',
      reported: [
        'gadgets.example.com safe maximum-raised',
        'gizmos.example.com safe undefined',
        'widgets.example.com breaking maximum-lowered',
      ],
    });
    expect(await verdicts('diff', form, 'new', '--set', 'sub.enabled=false')).toEqual({
      err: '',
      reported: [
        'gadgets.example.com safe crd-created',
        'gizmos.example.com safe crd-created',
        'widgets.example.com breaking maximum-lowered',
      ],
    });
  });

  test('the lines of crds/ are reported', async () => {
    const { out } = await runCrd(['diff', 'shop', 'new'], { directory: charts.directory });
    expect(out).toMatch(/- shop\/crds\/widgets\.yaml:19:37/);
  });

  test('a render failure is reported with the message of Helm', async () => {
    charts.write({
      'broken/Chart.yaml': chartNamed('broken'),
      'broken/templates/a.yaml': `{{ required "say which" .Values.which }}\n${widget(2)}`,
    });
    const { code, err } = await runCrd(['diff', 'broken', 'new'], { directory: charts.directory });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/helm template .*failed: [\s\S]*say which/) });
    const { code: checked, err: said } = await runCheck(['-f', 'policy.yaml', '-f', 'broken'], charts);
    expect({ checked, said }).toEqual({ checked: 2, said: expect.stringContaining('say which') });
  });

  test('in a tree: what a chart makes is compared, and one that makes no definition need not be rendered', async () => {
    charts.write({
      'tree/shop/Chart.yaml': chartNamed('shop'),
      'tree/shop/templates/a.yaml': `{{ with .Values.plural | default "gadgets" }}\n${widget(2, '{{ . }}')}{{ end }}\n`,
      'tree/needy/Chart.yaml': chartNamed('needy'),
      'tree/needy/templates/a.yaml': '{{ required "say which" .Values.which }}\n',
      'tree/needy/crds/a.yaml': widget(2),
      'tree/library/Chart.yaml': chartNamed('library', 'type: library\n'),
      'tree/library/templates/_a.yaml': `{{ define "a" }}\n${widget(2, 'libraries')}{{ end }}\n`,
    });
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...words], {
        cwd: join(charts.directory, 'tree'),
      });
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'base');
    charts.write({
      'tree/shop/templates/a.yaml': `{{ with .Values.plural | default "gadgets" }}\n${widget(1, '{{ . }}')}{{ end }}\n`,
    });
    expect(await verdicts('check', 'tree')).toEqual({
      err: '',
      reported: ['gadgets.example.com breaking maximum-lowered', 'widgets.example.com safe undefined'],
    });
  });

  test('kidp check names the template of a finding', async () => {
    const { code, out } = await runCheck(['-f', 'policy.yaml', '-f', 'shop'], charts);
    expect(code).toBe(1);
    expect(out).toMatch(
      /^shop\/templates\/config\.yaml:1:1: denied: ConfigMap shop: small \(small\): .*want at most 1\. Too much/,
    );
  });

  test('kustomize, as kubectl has it, is asked where a directory is its own', async () => {
    vi.stubEnv('PATH', `${dirname(sharedCluster().controlPlane.kubectl)}${delimiter}${process.env.PATH}`);
    charts.write({
      'built/kustomization.yaml': 'resources: [a.yaml]\npatches: [{path: b.yaml}]\n',
      'built/a.yaml': widget(2),
      'built/b.yaml': [
        'apiVersion: apiextensions.k8s.io/v1',
        'kind: CustomResourceDefinition',
        'metadata: {name: widgets.example.com}',
        'spec: {preserveUnknownFields: false, names: {shortNames: [wd]}}',
      ].join('\n'),
    });
    const { code, out, err } = await runCrd(['diff', 'built/a.yaml', 'built', '-o', 'json'], charts);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out).changes.map(({ kind }: { kind: string }) => kind)).toContain('short-name-added');
  });
});

describe('at the gate', () => {
  let plane: GatePlane;
  beforeAll(async () => {
    plane = await startGatePlane();
    await plane.gate();
  });
  afterAll(() => plane?.stop());

  const helm = (...words: string[]) => charts.helm(words, plane.plane.kubeconfig);
  /** The chart `operator` with the definition among its templates, as charts have it that change theirs, and a setting beside it. */
  const release = (definition: Definition, mood: string) =>
    charts.write({
      'operator/Chart.yaml': chartNamed('operator'),
      'operator/templates/definition.yaml': stringify(definition),
      'operator/templates/settings.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mood: ${mood}}\n`,
    });
  const before = widgets('released', size({ maximum: 20 }));
  const statusOf = async () => JSON.parse((await helm('status', 'operator', '-o', 'json')).stdout).info.status;
  const maximum = async () => {
    const { spec } = await plane.client.get(definitions, { name: before.metadata.name });
    return /"maximum":(\d+)/.exec(JSON.stringify(spec))?.[1];
  };

  // Each goes on from the release that the one before has made.
  test('an install comes in', async () => {
    release(before, 'new');
    expect(await helm('install', 'operator', 'operator')).toMatchObject({ code: 0 });
    await eventually(() => plane.client.list(resourceOf(before)), patient);
    await plane.client.create(resourceOf(before), objectOf(before, 'large', { size: 15 }));
  });

  test('an upgrade that breaks is denied, Helm shows why, and the definition is what it was', async () => {
    release(widgets('released', size({ maximum: 10 })), 'narrow');
    const { code, stderr } = await helm('upgrade', 'operator', 'operator');
    expect(code).not.toBe(0);
    expect(stderr).toContain('admission webhook "validate-crds.kidp.platform.company.com" denied the request');
    expect(stderr).toContain(
      'released.gate.example.com: 1 breaking change; 1 of 1 stored object would break, first: default/large',
    );
    expect(stderr).toMatch(/v1 \.spec\.size \(maximum-lowered\)/);
    expect(await maximum()).toBe('20');
    expect(await statusOf()).toBe('failed');
  });

  test('an upgrade that is safe goes through after it', async () => {
    release(widgets('released', size({ maximum: 30 })), 'wide');
    expect(await helm('upgrade', 'operator', 'operator')).toMatchObject({ code: 0 });
    expect(await maximum()).toBe('30');
    expect(await statusOf()).toBe('deployed');
  });

  test('an uninstall does not take the objects with it', async () => {
    // Without --debug Helm keeps the reason of a deletion to itself.
    const { code, stderr } = await helm('uninstall', 'operator', '--debug');
    expect(code).not.toBe(0);
    expect(stderr).toContain('1 object exists, first: default/large');
    expect(await plane.client.get(resourceOf(before), { namespace: 'default', name: 'large' })).toBeDefined();
  });

  test('crds/ of an install pass it too', async () => {
    charts.write({
      'kept/Chart.yaml': chartNamed('kept'),
      'kept/crds/deep.yaml': JSON.stringify(widgets('deeper', deep(400))),
    });
    const { code, stderr } = await helm('install', 'kept', 'kept');
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/crd compatibility: .*nested more than \d+ levels/);
  });
});
