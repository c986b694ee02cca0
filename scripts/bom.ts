/**
 * The software bill of materials of the npm packages, as CycloneDX. `npm sbom --omit dev` leaves out packages that a development
 * dependency asks for too, so that development packages are removed here.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

export interface Bom {
  readonly metadata: { readonly timestamp?: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** Returns the bill of materials of the package. */
export function packageBom(): Bom {
  const words = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
  const whole = JSON.parse(
    execFileSync('npm', words, {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as Bom;
  const removed = new Set(whole.components.filter(isForDevelopment).map((each) => each['bom-ref']));
  return {
    ...whole,
    components: whole.components.filter((each) => !removed.has(each['bom-ref'])),
    dependencies: whole.dependencies
      .filter(({ ref }) => !removed.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => !removed.has(each)) })),
  };
}

const isForDevelopment = ({ properties = [] }: Component): boolean =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
