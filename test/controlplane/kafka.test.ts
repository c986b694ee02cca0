/** A real Kafka: fetched once, started, stopped, hurt, and nothing left of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Admin } from '@platformatic/kafka';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityOf, isAlive } from '../../src/controlplane/identity.ts';
import { ensureKafka, startKafka } from '../../src/controlplane/index.ts';

/** A shell snippet that reads the output directory from the arguments of Maven. */
const outputDirectory =
  'for word in "$@"; do case "$word" in -DoutputDirectory=*) out=$(echo "$word" | cut -d= -f2-);; esac; done';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-kafka-test-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('startKafka', () => {
  it('keeps its log, its port and its authority in a directory, and lets one run at a time use it', async () => {
    const home = join(directory, 'kafka');
    const first = await startKafka({ directory: home, tls: true });
    const { bootstrapServers } = first;
    const certificate = first.clientCertificate('test');
    await withAdmin(bootstrapServers, certificate, (admin) => admin.createTopics({ topics: ['kept'], partitions: 2 }));
    await expect(startKafka({ directory: home })).rejects.toMatchObject({
      code: 'state/in-use',
      message: expect.stringContaining('the Kafka in'),
    });
    const { pid = 0 } = first.process;
    const identity = identityOf(pid);
    await first.stop();
    expect(identity && isAlive(identity)).toBe(false);
    const second = await startKafka({ directory: home, tls: true });
    try {
      expect(second.bootstrapServers).toEqual(bootstrapServers);
      // The certificate of the last run still holds, and so does what was made then.
      await expect
        .poll(() => withAdmin(bootstrapServers, certificate, (admin) => admin.listTopics()))
        .toContain('kept');
    } finally {
      await second.stop();
    }
  });

  it('leaves no process and no directory behind, and says where a port is taken', async () => {
    const kafka = await startKafka();
    const { pid = 0 } = kafka.process;
    const identity = identityOf(pid);
    expect(() => kafka.clientCertificate('test')).toThrow('without TLS');
    const port = Number(kafka.bootstrapServers[0]?.split(':')[1]);
    await expect(startKafka({ port })).rejects.toMatchObject({ code: 'port/taken' });
    kafka.pause();
    await kafka.stop();
    expect(identity && isAlive(identity)).toBe(false);
    expect(existsSync(kafka.directory)).toBe(false);
  });
});

describe('ensureKafka', () => {
  const version = 'echo \'openjdk version "17.0.1"\' >&2';
  const rows = [
    { reason: 'there is no Java', programs: {}, code: 'assets/no-java' },
    { reason: 'Java is broken', programs: { java: 'exit 1' }, code: 'assets/no-java' },
    { reason: 'Java is too old', programs: { java: 'echo \'java version "1.8.0"\' >&2' }, code: 'assets/java-too-old' },
    { reason: 'there is no Maven', programs: { java: version }, code: 'assets/no-maven' },
    {
      reason: 'Maven cannot download',
      programs: { java: version, mvn: 'echo "[ERROR] Could not transfer artifact x: Connection refused"; exit 1' },
      code: 'assets/no-network',
    },
    {
      reason: 'Maven brings something else',
      programs: { java: version, mvn: `${outputDirectory}; mkdir -p "$out"; echo no > "$out/kafka_2.13-4.3.1.jar"` },
      code: 'assets/build-failed',
    },
  ];
  it.each(rows)('fails in one sentence where $reason, and leaves nothing', async ({ programs, code }) => {
    const environment = { PATH: provide(programs), KIDP_CACHE: join(directory, 'cache') };
    const failure = await ensureKafka({ environment }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code });
    const cache = join(directory, 'cache', 'assets');
    expect(existsSync(cache) ? readdirSync(cache) : []).toEqual([]);
  });

  it('is fetched by one of two processes that start at once; the other waits and uses it', async () => {
    const { folder, java } = await ensureKafka();
    const jars = join(folder, 'jars');
    const calls = join(directory, 'calls');
    const original = process.env.PATH ?? '';
    const path = provide({
      // No archive of classes, which takes longest, can be made with this one: it goes without.
      java: `case "$*" in *ArchiveClassesAtExit*) exit 1;; esac; PATH=${original} exec ${java} "$@"`,
      mvn: `echo called >> ${calls}; ${outputDirectory}; mkdir -p "$out"; cp ${jars}/*.jar "$out"`,
    });
    const environment = {
      ...process.env,
      PATH: `${path}${delimiter}${original}`,
      KIDP_CACHE: join(directory, 'cache'),
    };
    const [one, other] = await Promise.all([fetchApart(environment), fetchApart(environment)]);
    expect(one).toBe(other);
    expect(readdirSync(one).sort()).toEqual(['jars', 'log4j2.xml', 'storage']);
    expect(readFileSync(calls, 'utf8')).toBe('called\n');
    expect(readdirSync(join(directory, 'cache', 'assets'))).toHaveLength(1);
  });
});

/** A folder with these shell scripts, to be used as PATH. */
function provide(programs: Readonly<Record<string, string>>): string {
  const folder = join(directory, 'bin');
  mkdirSync(folder);
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

/** In a process of its own; resolves to the folder. */
function fetchApart(environment: NodeJS.ProcessEnv): Promise<string> {
  const index = new URL('../../src/controlplane/index.ts', import.meta.url).href;
  const program = `import { ensureKafka } from ${JSON.stringify(index)}; console.log((await ensureKafka()).folder);`;
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output.trim());
      else reject(new Error(`ensureKafka in a process of its own exited with code ${code}`));
    });
  });
}

async function withAdmin<T>(
  bootstrapServers: readonly string[],
  tls: { ca: string; cert: string; key: string },
  ask: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = new Admin({
    clientId: 'test',
    bootstrapBrokers: [...bootstrapServers],
    tls,
    retries: 10,
    retryDelay: 500,
  });
  try {
    return await ask(admin);
  } finally {
    await admin.close();
  }
}
