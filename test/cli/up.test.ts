/** `npm start` as a new user runs it: each mode is started for real, used, and stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startEtcd } from '../../src/controlplane/etcd.ts';
import { ensureAssets } from '../../src/controlplane/index.ts';
import { loadState } from '../../src/controlplane/state.ts';
import { type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';
import { openReportsDefinitions } from '../support/openreports.ts';

const root = join(import.meta.dirname, '..', '..');
let folder: string;
const running = new Set<ChildProcess>();
/** A machine with built control-plane binaries, but without Java for Kafka. */
const withoutJava = { ...process.env, PATH: dirname(process.execPath) };
/** One controller fails on SIGUSR2, which no fault of a cluster would cause. */
const mayFail = {
  NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'support', 'failing-controller.ts'))}`,
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-up-'));
});
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL');
  // Its child processes end with it; only then is the directory free.
  await sleep(running.size > 0 ? 3_000 : 0);
  running.clear();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

describe('a local control plane', () => {
  test('starts, admits, denies with the reason, keeps its state, and leaves nothing behind', async () => {
    const first = start(['--directory', folder]);
    // The commands to try are printed after it, line by line.
    await first.until(/ready in[\s\S]*get databases,services\S* .*\n/);
    expect(first.output()).toContain(`kubeconfig  ${folder}/kubeconfig`);
    // The lines about rollouts might not have been printed yet.
    const commands = [...first.output().matchAll(/^ {2}(\S+\/kubectl) (apply -f examples\/quickstart\/\S+)$/gm)].map(
      (match) => match[2] ?? '',
    );
    expect(commands).toHaveLength(4);
    const admitted = await shell(commands[0] ?? '');
    expect(admitted).toMatchObject({ code: 0, stderr: '' });
    expect(admitted.stdout).toContain('database.platform.company.com/users created');
    const withoutBackup = await shell(commands[1] ?? '');
    expect(withoutBackup.code).not.toBe(0);
    expect(withoutBackup.stderr).toMatch(
      /policy production-backups, rule require-backup: spec\.backup\.enabled is false, want true\. Set it to true/,
    );
    const narrower = await shell(commands[2] ?? '');
    expect(narrower.code).not.toBe(0);
    expect(narrower.stderr).toMatch(
      /crd compatibility: buckets\.storage\.example\.com: 1 breaking change; 1 of 2 stored objects would break, first: default\/logs: \.spec\.gigabytes/,
    );
    const newOwner = await shell('apply -f examples/quickstart/new-owner.yaml');
    expect(newOwner.code).not.toBe(0);
    expect(newOwner.stderr).toMatch(/spec\.owner/);
    await until(async () => /production-backups +True/.test((await shell('get policies')).stdout));
    // Admitted objects are deployed: a Deployment with the database's credentials, and a topic.
    expect(await shell(commands[3] ?? '')).toMatchObject({ code: 0 });
    await until(async () =>
      /^ready ready$/m.test(
        (
          await shell(
            'get services.platform.company.com/user-api topics/user-events -n team-backend -o jsonpath={.items[*].status.phase}',
          )
        ).stdout,
      ),
    );
    const processes = await processesBelow(folder);
    expect(processes.map((line) => basename(line.trim().split(/\s+/)[2] ?? '')).sort()).toEqual([
      'etcd',
      'java',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'kwok',
    ]);

    const second = start(['--directory', folder]);
    expect(await second.ended()).toBe(1);
    expect(second.output()).toMatch(/is run by process \d+/);
    const reset = start(['--directory', folder, '--reset']);
    expect(await reset.ended()).toBe(1);
    expect(await shell('get databases -n team-backend users')).toMatchObject({ code: 0 });

    first.stop('SIGINT');
    expect(await first.ended()).toBe(0);
    expect(await processesBelow(folder)).toEqual([]);
    expect(await storedWebhookConfigurations(folder)).toEqual([]);

    const again = start(['--directory', folder]);
    await again.until(/ready in/);
    expect(await shell('get databases -n team-backend users')).toMatchObject({ code: 0 });
    again.stop('SIGKILL');
    await again.ended();
    await until(async () => (await processesBelow(folder)).length === 0);

    // The killed run left its webhook configurations in etcd; they must not lock out the next run. Kafka is not needed for that.
    expect(await storedWebhookConfigurations(folder)).toEqual([
      '/registry/mutatingwebhookconfigurations/kidp-admission',
      '/registry/validatingwebhookconfigurations/kidp-admission',
    ]);
    const healed = start(['--directory', folder], withoutJava);
    await healed.until(/ready in/);
    await healed.until(/Kafka +none; brokers are reached over HTTP: .*Java/);
    expect(await shell('annotate databases -n team-backend users tried=yes')).toMatchObject({ code: 0 });

    // A dead API server is noticed, and the rest is stopped.
    const line = (await processesBelow(folder)).find((each) => each.includes('kube-apiserver ')) ?? '';
    process.kill(Number(line.trim().split(/\s+/)[0]), 'SIGKILL');
    expect(await healed.ended()).toBe(1);
    expect(healed.output()).toMatch(/kube-apiserver exited unexpectedly; see \S+kube-apiserver\.log/);
    expect(await processesBelow(folder)).toEqual([]);

    const afterReset = start(['--directory', folder, '--reset'], { ...withoutJava, ...mayFail });
    await afterReset.until(/ready in/);
    expect((await shell('get databases -A')).stderr).toContain('No resources found');
    expect(existsSync(join(folder, 'kafka'))).toBe(false);
    // A failed controller is noticed too.
    afterReset.stop('SIGUSR2');
    expect(await afterReset.ended()).toBe(1);
    expect(afterReset.output()).toMatch(/the controllers stopped unexpectedly: .*this part has failed/);
    expect(await processesBelow(folder)).toEqual([]);
    // Everything is started five times, which takes long.
  }, 1_500_000);

  test('a stop before it is ready is a stop', async () => {
    const run = await stoppedUnderWay(async () => {
      const started = start(['--directory', folder], withoutJava);
      await until(async () => (await processesBelow(folder)).length > 0, 100);
      return started;
    });
    expect(await run.ended()).toBe(130);
    expect(run.output()).toMatch(/stopped \(SIGINT\) before it was ready/);
    await until(async () => (await processesBelow(folder)).length === 0);
  });

  test('reports a port in use in one sentence', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const run = start(['--directory', folder, '--port', String(port)], withoutJava);
    expect(await run.ended()).toBe(1);
    expect(run.output()).toMatch(new RegExp(`kidp: .*port ${port}.*\\n`));
    taken.close();
  });
});

describe('an existing cluster', () => {
  // Shared by all tests: each leaves it unchanged, except the last two, which need nothing of it.
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane();
    await sharedCluster().kubectl(['create', '-f', '-'], {
      kubeconfig: plane.kubeconfig,
      input: openReportsDefinitions(),
    });
    // An API server creates its own namespaces after it is ready.
    await until(async () => {
      const there = await everything(plane);
      return ['default', 'kube-node-lease', 'kube-public', 'kube-system'].every((each) =>
        there.includes(`namespace/${each}\n`),
      );
    });
  });
  afterAll(() => plane?.stop());

  test('is joined with failurePolicy Ignore and left unchanged', async () => {
    const before = await everything(plane);
    const run = start(['--kubeconfig', plane.kubeconfig, '--directory', folder]);
    await run.until(/ready in/);
    const during = await kubectl(plane, 'get validatingwebhookconfigurations -o json');
    expect(
      JSON.parse(during.stdout).items.map(
        (item: { webhooks: { failurePolicy: string }[] }) => item.webhooks[0]?.failurePolicy,
      ),
    ).toEqual(['Ignore']);

    // A second run would replace the webhook; it reports the first one and exits.
    const second = start(['--kubeconfig', plane.kubeconfig, '--directory', folder]);
    expect(await second.ended()).toBe(2);
    expect(second.errors()).toMatch(
      /^kidp: Another kidp serves this cluster \(replica \S+, whose Lease kube-system\/kidp-replica-\S+ was renewed at .*\)[^\n]*Stop it first[^\n]*\n$/,
    );
    expect((await kubectl(plane, 'get validatingwebhookconfigurations -o json')).stdout).toBe(during.stdout);
    run.stop('SIGINT');
    expect(await run.ended()).toBe(0);
    await until(async () => (await everything(plane)) === before);
  });

  test('is left unchanged when a controller fails, which is reported', async () => {
    const before = await everything(plane);
    const run = start(['--kubeconfig', plane.kubeconfig, '--directory', folder], { ...process.env, ...mayFail });
    await run.until(/ready in/);
    run.stop('SIGUSR2');
    expect(await run.ended()).toBe(1);
    expect(run.output()).toMatch(
      /the controllers stopped unexpectedly: .*this part has failed[\s\S]*Start kidp again.*\nstopping …\nstopped\n$/,
    );
    await until(async () => (await everything(plane)) === before);
  });

  test('is not joined without permissions; the missing ones are listed in one sentence', async () => {
    const run = start(['--kubeconfig', await plane.kubeconfigFor({ name: 'jane' }), '--directory', folder]);
    expect(await run.ended()).toBe(2);
    expect(run.errors()).toMatch(
      /^kidp: The user of context \S+ of \S+ is not allowed to get, create, patch, delete, list, watch customresourcedefinitions\.apiextensions\.k8s\.io; [^\n]*\. Ask for these permissions \(check them with "kubectl --kubeconfig \S+jane\.yaml auth can-i VERB RESOURCE"[^\n]*\n$/,
    );
  });

  test('reports an expired client certificate, with the next step', async () => {
    const user = { name: 'late', groups: ['system:masters'], validDays: -0.5 };
    const run = start(['--kubeconfig', await plane.kubeconfigFor(user), '--directory', folder]);
    expect(await run.ended()).toBe(1);
    expect(run.errors()).toMatch(
      /^kidp: [^\n]*the client certificate in [^\n]* expired at \d{4}-\d\d-\d\dT[\d:.]+Z, renew it\n$/,
    );
  });

  test('is left unchanged by a stop in the middle of joining', async () => {
    const before = await everything(plane);
    const run = await stoppedUnderWay(async () => {
      const started = start(['--kubeconfig', plane.kubeconfig, '--directory', folder]);
      await started.until(/connected to/);
      return started;
    });
    expect(await run.ended()).toBe(130);
    await until(async () => (await everything(plane)) === before);
  });

  test('keeps a CRD that has objects, and reports it', async () => {
    const run = start(['--kubeconfig', plane.kubeconfig, '--directory', folder]);
    await run.until(/ready in/);
    const { code, stderr } = await kubectl(plane, `apply -f ${join(root, 'examples/quickstart/team.yaml')}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // Nothing is dispatched here, so a deletion waits for nothing, now or later.
    const deleted = await kubectl(plane, 'delete databases -n team-backend users --timeout=120s');
    expect(deleted).toMatchObject({ code: 0 });
    expect(await kubectl(plane, `apply -f ${join(root, 'examples/quickstart/team.yaml')}`)).toMatchObject({ code: 0 });
    // The findings of the scan are reported while it runs, and removed afterwards.
    const policy = join(root, 'policies/platform/production-backups.yaml');
    expect(await kubectl(plane, `apply -f ${policy}`)).toMatchObject({ code: 0 });
    await until(async () => (await kubectl(plane, 'get reports -n team-backend -o name')).stdout.includes('/kidp'));
    run.stop('SIGTERM');
    expect(await run.ended()).toBe(0);
    expect(run.output()).toMatch(/CRD databases\.platform\.company\.com was kept because it has objects/);
    expect(await kubectl(plane, 'get databases -n team-backend users')).toMatchObject({ code: 0 });
    expect((await kubectl(plane, 'get caches.platform.company.com')).code).not.toBe(0);
    expect((await kubectl(plane, 'get reports,clusterreports -A -o name')).stdout).toBe('');
    const later = await kubectl(plane, 'delete databases -n team-backend users --timeout=120s');
    expect(later).toMatchObject({ code: 0 });
  });

  test('is taken over from a killed run, and left without its webhook', async () => {
    const webhooks = () =>
      kubectl(plane, 'get validatingwebhookconfigurations,mutatingwebhookconfigurations -o name').then(
        ({ stdout }) => stdout,
      );
    const killed = start(['--kubeconfig', plane.kubeconfig, '--directory', folder]);
    await killed.until(/ready in/);
    killed.stop('SIGKILL');
    await killed.ended();
    expect(await webhooks()).not.toBe('');
    const next = start(['--kubeconfig', plane.kubeconfig, '--directory', folder]);
    await next.until(/ready in/);
    next.stop('SIGINT');
    expect(await next.ended()).toBe(0);
    expect(await webhooks()).toBe('');
  });

  test('reports an unreachable cluster or an unreadable kubeconfig in one sentence', async () => {
    const broken = join(folder, 'broken.yaml');
    writeFileSync(broken, 'clusters: [\n');
    const parse = start(['--kubeconfig', broken]);
    expect(await parse.ended()).toBe(2);
    expect(parse.errors()).toMatch(/^kidp: .*broken\.yaml.*\n$/s);
    await plane.apiServer.kill();
    const away = start(['--kubeconfig', plane.kubeconfig]);
    expect(await away.ended()).toBe(1);
    expect(away.errors()).toMatch(/^kidp: .*127\.0\.0\.1:\d+.*\n$/s);
  });
});

test('serves the webhooks alone without Go and without binaries', async () => {
  const { PATH: _, KUBEBUILDER_ASSETS: __, ...rest } = process.env;
  const run = start(['--directory', folder], {
    ...rest,
    PATH: dirname(process.execPath),
    KIDP_CACHE: join(folder, 'cache'),
  });
  await run.until(/ready in[\s\S]*npx kidp crd diff .*\n/);
  expect(run.output()).toMatch(/no cluster started: .*Go/);
  expect(run.output()).toMatch(/\d+ starter policies/);
  expect(run.output()).toMatch(/npx kidp check -f policies\/platform -f examples/);
  const url = /admission {3}(https:\S+)/.exec(run.output())?.[1] ?? '';
  expect(await status(`${url}/healthz`)).toBe(200);
  run.stop('SIGINT');
  expect(await run.ended()).toBe(0);
});

function start(words: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const child = spawn(process.execPath, [join(root, 'bin', 'kidp.js'), 'up', ...words], {
    cwd: root,
    env,
    stdio: 'pipe',
  });
  running.add(child);
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    errors += text;
  });
  let code: number | undefined;
  const ended = new Promise<number>((resolve) => {
    child.on('close', (exit) => {
      running.delete(child);
      code = exit ?? -1;
      resolve(code);
    });
  });
  return {
    output: () => output,
    errors: () => errors,
    ended: () => ended,
    stop: (signal: NodeJS.Signals) => child.kill(signal),
    async until(pattern: RegExp) {
      await until(async () => {
        if (code !== undefined) throw new Error(`kidp up ended with ${code}:\n${output}`);
        return pattern.test(output);
      }, 50);
    },
  };
}

/** Stops a run before it is ready, and tries again if a slow machine delivered the signal too late. */
async function stoppedUnderWay(begin: () => Promise<ReturnType<typeof start>>): Promise<ReturnType<typeof start>> {
  for (let tries = 1; ; tries += 1) {
    const run = await begin();
    run.stop('SIGINT');
    await run.ended();
    if (!/ready in/.test(run.output()) || tries === 5) return run;
  }
}

async function until(check: () => Promise<boolean>, every = 500): Promise<void> {
  for (const deadline = Date.now() + 300_000; !(await check()); await sleep(every)) {
    if (Date.now() > deadline) throw new Error('condition not met within 300 s');
  }
}

/** The kubectl that `kidp up` writes beside the state, as a user calls it. */
const shell = (words: string) => command(join(folder, 'kubectl'), words.split(' '));
const kubectl = (plane: ControlPlane, words: string) =>
  sharedCluster().kubectl(words.split(' '), { kubeconfig: plane.kubeconfig });

function command(program: string, words: readonly string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd: root });
    const result = { stdout: '', stderr: '' };
    child.stdout.on('data', (text) => (result.stdout += text));
    child.stderr.on('data', (text) => (result.stderr += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...result, code: code ?? -1 }));
  });
}

async function processesBelow(path: string): Promise<string[]> {
  const { stdout } = await command('ps', ['-eo', 'pid,stat,args']);
  const below = [`${path}/cluster`, `${path}/kafka`];
  return stdout.split('\n').filter((line) => below.some((each) => line.includes(each)) && !/^\s*\d+\s+Z/.test(line));
}

/** Reads the keys of a stopped cluster from etcd, which is faster than starting the API server. */
async function storedWebhookConfigurations(path: string): Promise<string[]> {
  const cluster = join(path, 'cluster');
  const state = await loadState(cluster);
  if (state === undefined) throw new Error(`no state in ${cluster}`);
  const etcd = await startEtcd({
    directory: join(cluster, 'etcd'),
    logDirectory: join(cluster, 'logs'),
    run: join(cluster, 'run'),
    members: 1,
    throwaway: false,
    authority: state.etcdAuthority,
    ports: state.etcdPorts,
    program: async (name) => (await ensureAssets([name]))[name],
  });
  const keys = (await etcd.control('get', '/registry/', '--prefix', '--keys-only')).split('\n');
  for (const member of etcd.members) await member.stop();
  expect(keys).toContain('/registry/namespaces/default');
  return keys.filter((key) => key.includes('webhookconfigurations/')).sort();
}

/** Lists what a cluster's owner would notice: CRDs, webhooks, namespaces, and objects that kidp writes. */
async function everything(plane: ControlPlane): Promise<string> {
  const { stdout } = await kubectl(
    plane,
    'get crds,validatingwebhookconfigurations,mutatingwebhookconfigurations,namespaces,clusterroles,clusterrolebindings,leases,reports,clusterreports -A -o name',
  );
  return stdout;
}

function status(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}
