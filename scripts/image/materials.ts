/** What is published beside the image: its software bill of materials and how it was built. Both depend on the sources only. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImageArchitecture, recipes } from '../../src/controlplane/index.ts';
import { root } from '../../test/conventions/tools.ts';
import { sbom } from '../sbom.ts';
import type { DebianPackage } from './base.ts';
import type { BuiltImage } from './build.ts';
import { foreignPackages } from './dependencies.ts';
import { nodePackage } from './npm-package.ts';

interface Subject {
  readonly name: string;
  readonly digest: string;
}

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
}

interface Bom {
  readonly serialNumber?: string;
  readonly metadata: { readonly timestamp?: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Returns the bill of materials of the image for one architecture, as CycloneDX. */
export async function imageBom({ name, digest }: Subject, { content, packages, helm }: BuiltImage): Promise<object> {
  const { architecture } = content;
  const { serialNumber: _, ...npm } = JSON.parse(await sbom()) as Bom;
  const { timestamp: __, ...metadata } = npm.metadata;
  const foreign = new Set(foreignPackages(root, architecture));
  const components = [
    ...npm.components.filter((each) => !foreign.has(each['bom-ref'])),
    ...packages.map((each) => debianComponent(each, architecture)),
    component(`pkg:npm/${nodePackage(architecture).name}@${nodePackage(architecture).version}`),
    ...goModules(helm),
  ];
  return {
    ...npm,
    serialNumber: `urn:uuid:${uuidFrom(digest.replace('sha256:', ''))}`,
    metadata: {
      ...metadata,
      component: { 'bom-ref': `pkg:oci/kidp@${digest}?arch=${architecture}`, type: 'container', name, version: digest },
    },
    components: [npm.metadata.component, ...components],
    dependencies: npm.dependencies
      .filter(({ ref }) => !foreign.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => !foreign.has(each)) })),
  };
}

function component(purl: string): Component {
  const [, path = '', version = ''] = /^pkg:[^/]+\/(.*)@([^?]*)/.exec(purl) ?? [];
  return {
    'bom-ref': purl,
    type: 'library',
    name: decodeURIComponent(path),
    version: decodeURIComponent(version),
    purl,
  };
}

const debianComponent = ({ name, version }: DebianPackage, architecture: ImageArchitecture): Component =>
  component(
    `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${name === 'ca-certificates' ? 'all' : architecture}&distro=debian-12`,
  );

/** Go records in a program which modules it is made of. */
function goModules(program: string): Component[] {
  const said = execFileSync('go', ['version', '-m', program], { encoding: 'utf8' });
  const modules = said.matchAll(/^\t(?:dep|=>)\t(\S+)\t(v\S+)/gm);
  const { version } = recipes.helm;
  return [
    component(`pkg:golang/helm.sh/helm/v4@v${version}`),
    ...[...modules]
      .filter(([, path]) => path !== 'helm.sh/helm/v4')
      .map(([, path, at]) => component(`pkg:golang/${path}@${at}`)),
  ];
}

/** Equal images have equal serial numbers. */
function uuidFrom(hex: string): string {
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join('-');
}

/** Returns an in-toto statement with SLSA provenance. */
export function provenance(subject: Subject, images: readonly BuiltImage[]): object {
  const architectures = images.map(({ content }) => content.architecture);
  const [{ packages = [] } = {}] = images;
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: subject.name, digest: { sha256: subject.digest.replace('sha256:', '') } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:kidp:image:v1',
        externalParameters: { command: 'npm run image', platforms: architectures.map((each) => `linux/${each}`) },
        resolvedDependencies: [
          sources(),
          { uri: 'file:package-lock.json', digest: { sha256: sha256File('package-lock.json') } },
          {
            uri: 'file:src/controlplane/recipes/helm/go.sum',
            digest: { sha256: sha256File('src/controlplane/recipes/helm/go.sum') },
          },
          ...architectures.map((architecture) => {
            const { name, version, integrity } = nodePackage(architecture);
            const sha512 = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
            return { uri: `pkg:npm/${name}@${version}`, digest: { sha512 } };
          }),
          ...packages.map((each) => ({
            uri: `pkg:deb/debian/${encodeURIComponent(each.name)}@${encodeURIComponent(each.version)}`,
          })),
        ],
      },
      runDetails: { builder: { id: 'urn:kidp:npm-run-image' } },
    },
  };
}

/** The commit, and whether there are changes beyond it. A copy without Git has none. */
function sources(): object {
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no') !== '';
    return { uri: 'git+kidp', digest: { gitCommit: git('rev-parse', 'HEAD') }, annotations: { changed } };
  } catch {
    return { uri: 'git+kidp', annotations: { commit: 'unknown' } };
  }
}

const sha256File = (file: string): string =>
  createHash('sha256')
    .update(readFileSync(join(root, file)))
    .digest('hex');
