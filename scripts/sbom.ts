/**
 * `npm run sbom` prints the software bill of materials of the package, as CycloneDX. The image contains the same packages: its
 * Dockerfile installs them from the same lock file. `npm sbom --omit dev` leaves out packages that a development dependency asks for
 * too, so that development packages are removed here.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

interface Component {
  readonly 'bom-ref': string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Bom {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const words = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
const whole = JSON.parse(
  execFileSync('npm', words, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  }),
) as Bom;

const isForDevelopment = ({ properties = [] }: Component): boolean =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
const removed = new Set(whole.components.filter(isForDevelopment).map((each) => each['bom-ref']));
const bom: Bom = {
  ...whole,
  components: whole.components.filter((each) => !removed.has(each['bom-ref'])),
  dependencies: whole.dependencies
    .filter(({ ref }) => !removed.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => !removed.has(each)) })),
};
process.stdout.write(`${JSON.stringify(bom, undefined, 2)}\n`);
