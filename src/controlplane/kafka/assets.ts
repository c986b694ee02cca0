/**
 * The jars of Kafka, fetched with Maven into the cache, with two files that make each start fast: a formatted, empty
 * storage to copy, and a class data archive.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type AssetOptions, recipeFolder } from '../assets.ts';
import { cacheDirectory, type Environment } from '../cache.ts';
import { runCommand } from '../command.ts';
import { ControlPlaneError } from '../errors.ts';
import { makeOnce } from '../once.ts';
import { createAuthority } from '../pki.ts';
import type { ProcessHandle } from '../process.ts';
import { countLines } from '../progress.ts';
import { maven, requireJava } from './java.ts';
import { serverProperties } from './properties.ts';
import { type KafkaProgram, startServer } from './server.ts';

const kafkaVersion = '4.3.1';

const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const classArchive = 'classes.jsa';
const sources = ['pom.xml', 'jars.sha256', 'log4j2.xml'] as const;

/** Fails with one sentence if Java or Maven is missing: `assets/no-java`, `assets/java-too-old`, `assets/no-maven`. */
export async function ensureKafka(options: AssetOptions = {}): Promise<KafkaProgram> {
  const environment = options.environment ?? process.env;
  const recipe = recipeFolder('kafka');
  const java = await requireJava(environment);
  const folder = await makeOnce({
    asset: 'kafka',
    version: kafkaVersion,
    cache: join(cacheDirectory(environment), 'assets'),
    key: await cacheKey(recipe),
    onProgress: options.onProgress ?? (() => undefined),
    async make({ finished, temporary }, report) {
      const wanted = readChecksums(await readFile(join(recipe, 'jars.sha256'), 'utf8'));
      const progress = (done: number) => report('download', Math.min(done, wanted.size), wanted.size, { unit: 'jars' });
      progress(0);
      const onOutput = countLines((line) => /Downloaded from .*\.jar /.test(line), progress);
      const jars = join(finished, 'jars');
      const flags = ['--file', join(recipe, 'pom.xml'), copyDependencies];
      // Maven runs in a temporary folder, because it may write a folder `target` beside a pom.xml.
      await maven([...flags, `-DoutputDirectory=${jars}`, '-DincludeScope=runtime'], {
        directory: temporary,
        environment,
        onOutput,
      });
      await verify(jars, wanted);
      await copyFile(join(recipe, 'log4j2.xml'), join(finished, 'log4j2.xml'));
      report('prepare', 1, 1);
      await format({ java, finished, temporary, environment });
      await archiveClasses({ java, finished, temporary });
    },
  });
  return { java, folder, flags: await jvmFlags(folder), storage: join(folder, 'storage') };
}

/** The class path is relative to the folder, because the class archive identifies jars by these paths. */
async function jvmFlags(folder: string): Promise<string[]> {
  const jars = (await readdir(join(folder, 'jars'))).sort().map((name) => join('jars', name));
  return [
    '-Xms64m',
    '-Xmx512m',
    // These flags favour a fast start and low memory over peak speed.
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-XX:+ExitOnOutOfMemoryError',
    // The archive only saves time, so there is no warning if it is missing or comes from another Java.
    ...(existsSync(join(folder, classArchive)) ? [`-XX:SharedArchiveFile=${classArchive}`, '-Xlog:disable'] : []),
    `-Dlog4j2.configurationFile=${join(folder, 'log4j2.xml')}`,
    '-cp',
    jars.join(delimiter),
  ];
}

/** The key has no platform, because jars are the same everywhere. */
async function cacheKey(recipe: string): Promise<string> {
  const hash = createHash('sha256').update(`${copyDependencies} ${classArchive}`);
  for (const name of sources) hash.update(`${name}\n`).update(await readFile(join(recipe, name)));
  return `kafka-${kafkaVersion}-${hash.digest('hex').slice(0, 12)}`;
}

/** Parses lines of `sha256sum`: digest, two spaces, name. */
function readChecksums(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

/** Verifies that exactly these jars are present, with exactly these bytes. */
async function verify(folder: string, wanted: ReadonlyMap<string, string>): Promise<void> {
  const found = new Map<string, string>();
  for (const name of await readdir(folder)) {
    const digest = createHash('sha256')
      .update(await readFile(join(folder, name)))
      .digest('hex');
    found.set(name, digest);
  }
  const names = new Set([...wanted.keys(), ...found.keys()]);
  const wrong = [...names].filter((name) => wanted.get(name) !== found.get(name)).sort();
  if (wrong.length === 0) return;
  throw new ControlPlaneError({
    code: 'assets/build-failed',
    message: `the jars that Maven fetched do not match the checksums pinned for Kafka ${kafkaVersion}: ${wrong.join(', ')}`,
    hint: 'Remove those from Maven’s local repository (~/.m2/repository) and run the command again.',
  });
}

interface Preparation {
  java: string;
  finished: string;
  temporary: string;
}

/** Formatting takes as long as a start, so it is done once: empty storages differ only in their identities. */
async function format({
  java,
  finished,
  temporary,
  environment,
}: Preparation & { environment: Environment }): Promise<void> {
  const properties = join(temporary, 'server.properties');
  const made = join(temporary, 'formatted');
  await writeFile(properties, serverProperties({ storage: made, ports: { client: 1, controller: 2 } }));
  const words = ['kafka.tools.StorageTool', 'format', '--cluster-id', 'AAAAAAAAAAAAAAAAAAAAAA', '--config', properties];
  const { code, output, errors } = await runCommand(java, [...(await jvmFlags(finished)), ...words], {
    directory: finished,
    environment,
  });
  if (code !== 0) {
    throw new ControlPlaneError({
      code: 'assets/build-failed',
      message: `the storage of Kafka could not be formatted: ${(output + errors).trim().split('\n').slice(-8).join('\n')}`,
      hint: 'Run the command again.',
    });
  }
  const storage = join(finished, 'storage');
  await mkdir(storage);
  await copyFile(join(made, 'bootstrap.checkpoint'), join(storage, 'bootstrap.checkpoint'));
}

/** Starts Kafka once and archives its loaded classes, which saves a third of each later start. */
async function archiveClasses({ java, finished, temporary }: Preparation): Promise<void> {
  const flags = [...(await jvmFlags(finished)), `-XX:ArchiveClassesAtExit=${classArchive}`];
  const program = { java, folder: finished, flags, storage: join(finished, 'storage') };
  const authority = createAuthority('kidp-kafka');
  let started: ProcessHandle | undefined;
  try {
    await startServer({
      program,
      path: temporary,
      run: temporary,
      authority,
      onProcess: (process) => (started = process),
    });
    await started?.stop({ graceMilliseconds: 120_000 });
  } catch {
    // This Java cannot do it, or the machine is too slow. A problem with Kafka itself is reported when Kafka is started.
    await started?.kill();
    await rm(join(finished, classArchive), { force: true });
  }
}
