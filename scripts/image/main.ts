/** `npm run image` builds the container image without a container engine, with SBOM, provenance and, on request, signatures. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type ImageArchitecture, renderProgress } from '../../src/controlplane/index.ts';
import { root } from '../../test/conventions/tools.ts';
import { packageFiles } from './build.ts';
import { writeImage } from './write.ts';

const help = `npm run image -- [options]

  --platform <list>   Build for these platforms (default: linux/amd64,linux/arm64)
  --name <name:tag>   Name the image (default: kidp:VERSION)
  --out <folder>      Write into this folder (default: out/image)
  --key <file>        Sign with this ECDSA P-256 key (PEM); its password is read from KIDP_SIGNING_PASSWORD
  --files <file>      Write only a tar file with the folder /kidp of the image, for this machine's architecture (used by the Dockerfile)
  --locked            Fail if Debian no longer has the versions of scripts/image/pins.json
`;

const platforms: Readonly<Record<string, ImageArchitecture>> = { 'linux/amd64': 'amd64', 'linux/arm64': 'arm64' };

try {
  process.exitCode = await main();
} catch (error) {
  const { message, hint } = error as { message: string; hint?: string };
  process.stderr.write(`kidp: ${message}${hint === undefined ? '' : `\n${hint}`}\n`);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      platform: { type: 'string', default: Object.keys(platforms).join(',') },
      name: { type: 'string' },
      out: { type: 'string', default: 'out/image' },
      key: { type: 'string' },
      files: { type: 'string' },
      locked: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const onProgress = renderProgress(process.stderr);
  if (values.files !== undefined) {
    writeFileSync(values.files, await packageFiles(process.arch === 'arm64' ? 'arm64' : 'amd64', onProgress));
    return 0;
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const folder = resolve(values.out);
  const { digest, files, warnings } = await writeImage({
    architectures: values.platform.split(',').map(architectureOf),
    folder,
    name: values.name ?? `kidp:${version}`,
    key: values.key,
    onProgress,
  });
  for (const warning of warnings)
    process.stderr.write(`kidp: ${warning}: the digest differs from that of the release\n`);
  for (const file of files) process.stdout.write(`${join(values.out, file)}\n`);
  process.stdout.write(`${digest}\n`);
  return values.locked && warnings.length > 0 ? 1 : 0;
}

function architectureOf(platform: string): ImageArchitecture {
  const architecture = platforms[platform];
  if (architecture !== undefined) return architecture;
  throw new Error(`--platform ${platform}: want ${Object.keys(platforms).join(' or ')}`);
}
