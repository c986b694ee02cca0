import { gunzipSync, gzipSync } from 'node:zlib';
import { pack, unpack } from '../../../src/fleet/charts/archive.ts';
import { ManifestError, objectsIn } from '../../../src/fleet/charts/manifests.ts';
import { digestInManifest, nextPage, tokenAddress, versionsInTags } from '../../../src/fleet/charts/registry.ts';
import { versionsIn } from '../../../src/fleet/charts/repository.ts';
import { compareVersions, isVersion } from '../../../src/fleet/charts/semver.ts';
import { FleetError } from '../../../src/fleet/contract.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const base = new URL('https://charts.example.com/stable/');
const digest = 'a'.repeat(64);
const index = `apiVersion: v1
entries:
  other:
  - version: 0.1.0
    urls: [a.tgz]
  web:
  - apiVersion: v2
    appVersion: "2.0"
    digest: ${digest}
    name: web
    urls:
    - https://charts.example.com/web-1.2.3.tgz
    version: 1.2.3
  - {version: v1.2.4-rc.1+b, urls: [web.tgz]}
generated: "2026-01-01T00:00:00Z"
`;
const archive = pack(
  'web',
  new Map([
    ['Chart.yaml', Buffer.from('name: web\nversion: 1.2.3\n')],
    [`templates/${'a'.repeat(100)}.yaml`, Buffer.from('a: 1\n')],
  ]),
);

export const target: Target = {
  about: 'Charts: Helm indexes, OCI tags, manifests and challenges, archives and their CRDs',
  modules: ['src/fleet/charts/', 'src/runtime/outbound/'],
  words: [
    'entries:',
    'web:',
    'urls:',
    'version:',
    'digest:',
    '"layers"',
    '"tags"',
    '"mediaType"',
    'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
    'http://127.0.0.1/',
    'file:///etc/passwd',
    '//[::1]/',
    'realm="https://a/"',
    'service="a"',
    'scope="b"',
    '../',
    '/',
    'sha256:',
    '&a',
    '*a',
    '<<:',
    '---\n',
    'items',
    'metadata',
    'kind: List',
    '1.2.3',
    'null',
    'path=',
  ],
  seeds: () => [
    index,
    '{"apiVersion":"v1","entries":{"web":[{"version":"1.2.3","urls":["a.tgz"]}]}}',
    '{"name":"web","tags":["1.2.3","1.2.4_b","latest",1]}',
    `{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","digest":"sha256:${digest}"}]}`,
    'Bearer realm="https://auth.example.com/token",service="registry",scope="repository:web:pull"',
    '</v2/web/tags/list?last=1>; rel="next"',
    'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a}\ndata: {a: 0644, b: yes, c: 0o17, d: 2026-01-01, e: *m}\n',
    gunzipSync(archive),
  ],
  async run(input) {
    const text = input.toString('utf8');
    await refusable(async () => {
      // In two pieces, as it arrives.
      const pieces = [input.subarray(0, input.length >> 1), input.subarray(input.length >> 1)];
      for (const { version, digest: found, address } of await versionsIn(pieces, 'web', base)) {
        ensure(isVersion(version), 'an indexed version is a version');
        ensure(address.protocol === 'https:', 'a remote index leads only to https', () => address.href);
        ensure(found === undefined || /^sha256:[0-9a-f]{64}$/.test(found), 'a digest is a digest');
      }
    });
    await refusable(() => {
      const versions = versionsInTags(input, base);
      ensure(versions.every(isVersion), 'a tag that is listed is a version');
      for (const [one = '', other = ''] of [versions.slice(0, 2)]) {
        ensure(
          compareVersions(one, other) === -compareVersions(other, one) + 0,
          'the order of versions is one order',
          () => `${one} ${other}`,
        );
      }
    });
    await refusable(() => {
      const found = digestInManifest(input, base);
      ensure(found === undefined || /^sha256:[0-9a-f]{64}$/.test(found), 'a layer has a digest');
    });
    await refusable(() => {
      const { protocol, hostname } = tokenAddress(text, { origin: base.origin, path: 'web' });
      ensure(protocol !== 'file:' && hostname !== 'localhost', 'a remote registry does not send us to this machine');
    });
    const next = nextPage(text, base);
    ensure(next === undefined || next.origin === base.origin, 'the next page is on the same server');
    await refusable(async () => {
      for (const { kind, apiVersion, metadata } of await objectsIn(text)) {
        ensure(
          [kind, apiVersion, metadata.name].every((each) => typeof each === 'string'),
          'an object has a kind and a name',
        );
      }
    });
    if (input.length < 512) return;
    await refusable(async () => {
      for (const path of (await unpack(gzipSync(input, { level: 0 }))).keys()) {
        ensure(!path.startsWith('/') && !path.split('/').includes('..'), 'a file stays in the archive', () => path);
      }
    });
  },
};

/** Bad input is refused with a FleetError or a ManifestError, and with no other. */
async function refusable(act: () => void | Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof FleetError) && !(error instanceof ManifestError)) throw error;
    ensure(error.message.length < 1_000, 'a refusal is short, whatever was sent');
  }
}
