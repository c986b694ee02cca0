/** The manifest with which krew installs `kubectl kidp`. */
import { stringify } from 'yaml';

export interface KrewArchive {
  readonly os: 'linux' | 'darwin';
  readonly architecture: 'amd64' | 'arm64';
  /** Where the archive can be downloaded. */
  readonly uri: string;
  readonly sha256: string;
  /** The program in the archive. */
  readonly program: string;
}

export function krewManifest(version: string, homepage: string, archives: readonly KrewArchive[]): string {
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'kidp' },
      spec: {
        version: `v${version}`,
        homepage,
        shortDescription: 'Check manifests and CRD changes against policies',
        description:
          'Evaluates manifests against policies offline, exactly as admission would, compares CRD versions, and shows rollouts, costs and dependencies of a cluster that runs kidp.\n',
        caveats: 'On macOS it needs Node 22.19 or newer.\n',
        platforms: archives.map(({ os, architecture, uri, sha256, program }) => ({
          selector: { matchLabels: { os, arch: architecture } },
          uri,
          sha256,
          bin: program,
        })),
      },
    },
    { lineWidth: 0 },
  );
}
