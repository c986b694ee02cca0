/**
 * The REST API under schemathesis, which makes requests from the OpenAPI document, right and wrong ones, and holds the answers against it.
 * It comes from PyPI into a virtual environment in the cache of kidp, once. Every round has another seed.
 */
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installDefinitions } from '../../src/cli/up/definitions.ts';
import { cacheDirectory, startControlPlane } from '../../src/controlplane/index.ts';
import { connect, loadKubeconfig, systemClock } from '../../src/runtime/index.ts';
import { openFacade } from '../rest/support/facade.ts';

const execute = promisify(execFile);
const version = '4.32.5';
const examplesInARound = 20;
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'ignored_auth',
];

/** As long as the minutes or the rounds last; one round asks each operation some twenty times in each of several ways. */
export async function run({
  minutes,
  rounds,
  log,
}: {
  minutes: number;
  rounds: number;
  log: (line: string) => void;
}): Promise<void> {
  const end = performance.now() + minutes * 60_000;
  const program = await schemathesis(log);
  const plane = await startControlPlane();
  const admin = connect(loadKubeconfig({ file: plane.kubeconfig }));
  const folder = await mkdtemp(join(tmpdir(), 'kidp-schemathesis-'));
  try {
    await installDefinitions(admin);
    // Half a second is a minute for the limits: they are not what is looked at here.
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() * 120 };
    const facade = await openFacade({ kubeconfig: plane.kubeconfig, admin, namespace: 'default' }, { clock });
    try {
      const token = await facade.token('schemathesis', ['kidp:admin']);
      for (let round = 1; round <= rounds && performance.now() < end; round += 1) {
        const seed = randomInt(2 ** 31);
        log(`round ${round}, seed ${seed}`);
        await oneRound(program, `${facade.rest.url}/openapi.json`, token, seed, folder);
      }
    } finally {
      for (const line of facade.log.lines.filter((each) => each.includes('could not be answered')))
        log(line.slice(0, 2000));
      await facade.stop();
    }
  } finally {
    await admin.close();
    await plane.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function oneRound(program: string, url: string, token: string, seed: number, folder: string): Promise<void> {
  const words = [
    ...['run', url, '--header', `Authorization: Bearer ${token}`, '--checks', checks.join(',')],
    ...['--max-examples', String(examplesInARound), '--seed', String(seed), '--no-color'],
  ];
  try {
    await execute(program, words, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    // What it sends may be very long.
    const said = `${stdout}${stderr}`.replaceAll(token, 'TOKEN').replace(/^(.{500}).+$/gm, '$1 …');
    throw new Error(`seed ${seed}:\n${said.slice(-50_000)}`);
  }
}

async function schemathesis(log: (line: string) => void): Promise<string> {
  const environment = join(cacheDirectory(process.env), `schemathesis-${version}`);
  const program = join(environment, 'bin', 'schemathesis');
  if (existsSync(program)) return program;
  log(`installing schemathesis ${version} from PyPI`);
  await execute('python3', ['-m', 'venv', environment]);
  await execute(join(environment, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${version}`], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return program;
}
