/**
 * Builds what npm publishes: `dist/` with the command line and the library, bundled with everything they need, and the declarations of
 * the library. Packages that only servers need (`peerDependencies`) are not bundled.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { directImports } from './direct-imports.ts';

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const require = createRequire(import.meta.url);

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string } | string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

/** The names of the packages whose code is in the bundle. */
export type Bundled = readonly string[];

/** `buildPackage` writes `dist` into the folder. */
export async function buildPackage(folder: string): Promise<Bundled> {
  const dist = join(folder, 'dist');
  rmSync(dist, { recursive: true, force: true });
  const [{ metafile }] = await Promise.all([bundle(dist), declare(dist)]);
  const bundled = packagesIn(metafile);
  writeFileSync(join(dist, 'THIRD-PARTY-LICENSES.txt'), notices(bundled));
  return bundled;
}

/** `bundledPackages` names the packages in the bundle, without writing it. */
export const bundledPackages = async (): Promise<Bundled> => packagesIn((await bundle(undefined)).metafile);

/** Options that the bundle and the single executables share. */
export const commonOptions = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22.19',
  metafile: true,
  logLevel: 'warning',
  external: Object.keys(manifest.peerDependencies),
  plugins: [
    onlyWhatIsUsedOf('@kubernetes/client-node'),
    directImports(
      root,
      new Map([
        ['src/cli/common/manifest.ts', manifestSource],
        ['src/policy/typecheck/kubernetes-attributes.ts', attributesSource],
      ]),
    ),
  ],
} as const satisfies BuildOptions;

function bundle(dist: string | undefined) {
  const entries = Object.values(manifest.exports).flatMap((entry) => {
    const [, name] = typeof entry === 'string' ? [] : (/^\.\/dist\/(.*)\.js$/.exec(entry.default) ?? []);
    return name === undefined ? [] : [[name, `src/${name}.ts`]];
  });
  return build({
    ...commonOptions,
    entryPoints: Object.fromEntries([
      ...entries,
      ['cli', 'src/cli/main.ts'],
      // Programs and threads of their own, which are looked for beside the chunk that starts them.
      ['chunks/comparison-worker', 'src/admission/gates/crds/comparison-worker.ts'],
      ['chunks/reaper-main', 'src/controlplane/reaper-main.ts'],
      ['chunks/main', 'src/controlplane/nodes/main.ts'],
    ]),
    splitting: true,
    format: 'esm',
    chunkNames: 'chunks/[name]-[hash]',
    // Bundled CommonJS modules require what is built into Node.
    banner: {
      js: `import { createRequire as createRequireOf } from 'node:module';\nconst require = createRequireOf(import.meta.url);`,
    },
    ...(dist === undefined ? { outdir: 'dist', write: false } : { outdir: dist }),
  });
}

/** The declarations that the entry points reach. prom-client is bundled, so that its declarations have to come along. */
async function declare(dist: string): Promise<void> {
  const whole = join(dist, '..', `declarations-${process.pid}`);
  try {
    const words = ['-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--noCheck', '--outDir', whole];
    await promisify(execFile)(join(root, 'node_modules', '.bin', 'tsc'), words, { cwd: root });
    const metrics = 'prom-client.d.ts';
    cpSync(join(root, 'node_modules', 'prom-client', 'index.d.ts'), join(whole, metrics));
    const seen = new Set<string>();
    const copy = (path: string): void => {
      if (seen.has(path)) return;
      seen.add(path);
      const toMetrics = relative(dirname(path), metrics.replace('.d.ts', '.js'));
      const text = readFileSync(join(whole, path), 'utf8').replace(
        /(?<=^import .* from )'prom-client'/gm,
        `'./${toMetrics}'`,
      );
      mkdirSync(join(dist, dirname(path)), { recursive: true });
      writeFileSync(join(dist, path), text);
      for (const [, from = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.[jt]s['"]/g))
        copy(`${join(dirname(path), from)}.d.ts`);
    };
    for (const entry of Object.values(manifest.exports))
      if (typeof entry !== 'string') copy(entry.types.replace('./dist/', ''));
  } finally {
    rmSync(whole, { recursive: true, force: true });
  }
}

async function manifestSource(): Promise<string> {
  const { version, peerDependencies } = manifest;
  return `export const version = () => ${JSON.stringify(version)};
export const serverPackages = () => (${JSON.stringify(peerDependencies)});`;
}

/** Types of fields by name, as one text that is parsed when it is first needed. */
async function attributesSource(): Promise<string> {
  const { attributesOf } = await import('../../src/policy/typecheck/kubernetes-attributes.ts');
  const folder = join(dirname(require.resolve('@kubernetes/client-node')), 'gen', 'models');
  const models = readdirSync(folder).flatMap((file) => /^(?!all|ObjectSerializer)(\w+)\.js$/.exec(file)?.[1] ?? []);
  const all = Object.fromEntries(
    models.map((model) => [model, attributesOf(model)]).filter(([, fields]) => fields?.length !== 0),
  );
  return `let all;
export function attributesOf(model) {
  all ??= JSON.parse(${JSON.stringify(JSON.stringify(all))});
  return all[model] ?? [];
}`;
}

/** Lets esbuild leave out the files of a package that nothing uses, which the package does not allow itself. */
function onlyWhatIsUsedOf(name: string): Plugin {
  const inside = `/node_modules/${name}/`;
  return {
    name: 'only-what-is-used',
    setup({ onResolve, resolve }) {
      onResolve({ filter: /./ }, async ({ path, pluginData, importer, ...options }) => {
        if (pluginData === inside || (path !== name && !importer.includes(inside))) return undefined;
        return { ...(await resolve(path, { ...options, importer, pluginData: inside })), sideEffects: false };
      });
    },
  };
}

/** Of a package only its folder in node_modules counts: one of two versions of a package lies below another package. */
function packagesIn({ outputs }: Metafile): Bundled {
  const inputs = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  const places = inputs.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(places)].sort();
}

function notices(places: Bundled): string {
  const texts = places.map((place) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, place, 'package.json'), 'utf8'));
    const file = readdirSync(join(root, place)).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(root, place, file), 'utf8').trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return `The files of this folder contain code of these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPackage(root);
