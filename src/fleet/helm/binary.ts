/** Finds the Helm binary, by configuration or on the PATH, and checks its version. */
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { FleetError } from '../contract.ts';
import { withWorkspace } from '../scratch/index.ts';
import { runHelm } from './run.ts';

export interface HelmBinary {
  readonly program: string;
  /** For example `v4.3.1`. */
  readonly version: string;
  readonly major: number;
}

/** Release labels, `--hide-notes` and OCI exist since this version. */
const oldest = [3, 14] as const;

export interface HelmLocation {
  /** The path of the binary. Default: `helm` on the PATH. */
  readonly program?: string | undefined;
  readonly path?: string | undefined;
}

export async function findHelm({ program, path = process.env.PATH ?? '' }: HelmLocation = {}): Promise<HelmBinary> {
  const found = program ?? (await firstOn(path));
  if (found === undefined) {
    throw new FleetError('helm/missing', 'No helm binary on the PATH: install Helm 3.14 or later, or set its path');
  }
  if (!(await isProgram(found))) {
    throw new FleetError('helm/missing', `${found} is not executable: set the path of the Helm binary`);
  }
  const { stdout, code } = await withWorkspace((directory) =>
    runHelm({ program: found }, ['version', '--template', '{{.Version}}'], { directory, timeoutMilliseconds: 60_000 }),
  );
  const version = stdout.trim();
  const [, major, minor] = /^v(\d+)\.(\d+)\.\d+/.exec(version) ?? [];
  if (code !== 0 || major === undefined) {
    throw new FleetError('helm/missing', `${found} is not a Helm binary: set the path of the Helm binary`);
  }
  const isOld = Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1]);
  if (isOld) {
    throw new FleetError('helm/missing', `${found} is Helm ${version}: install ${oldest.join('.')} or later`);
  }
  return { program: found, version, major: Number(major) };
}

async function firstOn(path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    const candidate = join(folder, 'helm');
    if (folder !== '' && (await isProgram(candidate))) return candidate;
  }
  return undefined;
}

const isProgram = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
