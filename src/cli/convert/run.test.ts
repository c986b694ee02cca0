import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type ConvertOptions, convert } from './run.ts';

const POLICY = `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: replicas}
spec:
  description: Few copies.
  selector:
    resourceTypes: [apps/v1/Deployment]
  rules:
  - name: few
    expression: spec.replicas < 5
    message: Run at most 5 copies.
    severity: high
`;
const REGO = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: old}
spec: {crd: {spec: {names: {kind: Old}}}, targets: [{target: t, rego: package x}]}
`;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-convert-'));
  writeFileSync(join(directory, 'policy.yaml'), POLICY);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function run(options: Partial<ConvertOptions>, input = '') {
  const said = { out: '', err: '' };
  const into = (stream: keyof typeof said) => ({
    write: (text: string): boolean => {
      said[stream] += text;
      return true;
    },
  });
  const code = await convert(
    { filename: [directory], to: 'native', output: 'yaml', ...options },
    { in: Readable.from([input]), out: into('out'), err: into('err') },
  );
  return { code, ...said, documents: parseAllDocuments(said.out).map((each) => each.toJS()) };
}

describe('kidp convert', () => {
  it('writes manifests, and lists what has no equivalent', async () => {
    const { code, documents, err } = await run({});
    expect(code).toBe(0);
    expect(documents.map(({ kind }) => kind)).toEqual([
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
    ]);
    expect(documents[0]).toMatchObject({
      metadata: { name: 'replicas', annotations: { 'kubernetes.io/description': 'Few copies.' } },
      spec: { validations: [{ expression: 'object.spec.replicas < 5', message: 'Run at most 5 copies.' }] },
    });
    expect(err).toContain(
      'policy.yaml:12:5: warning: Policy/replicas: spec.rules[0].severity: has no native equivalent',
    );
  });

  it('fails on losses with --strict', async () => {
    expect((await run({ strict: true })).code).toBe(1);
  });

  it('writes JSON, and templates of Gatekeeper', async () => {
    const { out, code } = await run({ to: 'gatekeeper', output: 'json' });
    expect(code).toBe(0);
    expect((JSON.parse(out) as { kind: string }[]).map(({ kind }) => kind)).toEqual(['ConstraintTemplate', 'Replicas']);
  });

  it('reads what it has written itself', async () => {
    const { out } = await run({});
    const back = await run({ filename: ['-'], to: 'policy' }, out);
    expect(back.code).toBe(0);
    expect(back.documents).toMatchObject([{ kind: 'Policy', metadata: { name: 'replicas' } }]);
  });

  it('refuses Rego by name', async () => {
    const { code, out, err } = await run({ filename: ['-'], to: 'policy' }, REGO);
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).toMatch(/^<stdin>:\d+:\d+: error: ConstraintTemplate\/old: spec.targets: .*Rego/);
  });

  it('says so where there is no policy', async () => {
    const input = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n';
    expect(await run({ filename: ['-'] }, input)).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('no policy'),
    });
  });
});
