/**
 * The engines of the kubernetes broker as real servers on a real node: initialization, credentials, rotation, restart, backup, and the
 * connection Secret as a client Pod uses it. The images are made of Debian packages (src/cli/up/engine-images.ts).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engineImageNames } from '../../src/cli/up/engine-images.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type RealPlatform, startRealPlatform, teamObjects } from '../support/real-platform.ts';

interface Engine {
  readonly engine: string;
  readonly kind: 'Database' | 'Cache';
  readonly size: string;
  /** Scripts of the client, with the entries of the connection Secret as variables: the second one prints what the first one wrote. */
  readonly write: string;
  readonly read: string;
  readonly rotates: boolean;
  readonly keepsData: boolean;
}

const sql = "CREATE TABLE notes (note VARCHAR(20)); INSERT INTO notes VALUES ('kept')";
const mariadb = 'mariadb --batch --skip-column-names -h "$host" -P "$port" -u "$username" -p"$password" "$database"';
const redis = 'REDISCLI_AUTH="$password" redis-cli -h "$host" -p "$port"';
const memcached = (command: string) =>
  `exec 3<>"/dev/tcp/$host/$port"; printf '${command}\\r\\nquit\\r\\n' >&3; cat <&3`;
const engines: readonly Engine[] = [
  {
    engine: 'postgresql',
    kind: 'Database',
    size: 'small',
    write: `psql -v ON_ERROR_STOP=1 "$uri" -c "${sql}"`,
    read: 'psql -v ON_ERROR_STOP=1 -tA "$uri" -c "SELECT note FROM notes"',
    rotates: true,
    keepsData: true,
  },
  {
    engine: 'mariadb',
    kind: 'Database',
    size: 'small',
    write: `${mariadb} -e "${sql}"`,
    read: `${mariadb} -e "SELECT note FROM notes"`,
    rotates: true,
    keepsData: true,
  },
  {
    engine: 'redis',
    kind: 'Cache',
    size: '64Mi',
    write: `${redis} set note kept | grep OK`,
    read: `${redis} get note`,
    rotates: true,
    keepsData: false,
  },
  {
    engine: 'memcached',
    kind: 'Cache',
    size: '64Mi',
    write: memcached('set note 0 0 4\\r\\nkept'),
    read: `${memcached('get note')} | grep -o kept`,
    rotates: false,
    keepsData: false,
  },
];

const namespace = 'team-engines';
const apiVersion = 'platform.company.com/v1';
const storageClassName = 'manual';
let platform: RealPlatform;
const inNamespace = (...flags: string[]) => platform.kubectl('--namespace', namespace, ...flags);
const json = async (...flags: string[]) => JSON.parse(await inNamespace('get', ...flags, '--output', 'json'));

beforeAll(async () => {
  platform = await startRealPlatform({
    nodes: 1,
    engines: engines.map(({ engine }) => engine),
    parameters: { storageClass: storageClassName },
  });
  await platform.apply(...teamObjects(namespace), ...(await disks(4)));
});
afterAll(() => platform?.stop());

/** Folders of the node, which a container of any user can write to, as volumes. */
async function disks(count: number): Promise<object[]> {
  const names = Array.from({ length: count }, (_, index) => `disk-${index}`);
  for (const name of names)
    await platform.cluster.runOnNode('node-0', 'mkdir', '-p', '-m', '0777', `/var/lib/disks/${name}`);
  return [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: storageClassName },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'Immediate',
    },
    ...names.map((name) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        storageClassName,
        capacity: { storage: '10Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path: `/var/lib/disks/${name}` },
      },
    })),
  ];
}

let clients = 0;
/** Runs a script in a Pod whose variables are the connection Secret, and returns its output; rejects if it fails. */
async function client(engine: string, script: string, connection: string): Promise<string> {
  const name = `client-${clients++}`;
  await platform.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      restartPolicy: 'Never',
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'client',
          image: engineImageNames[engine],
          command: ['bash', '-c', script],
          envFrom: [{ secretRef: { name: connection } }],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  });
  const phase = await eventually(async () => {
    const { status } = await json('pod', name);
    if (!['Succeeded', 'Failed'].includes(status.phase)) throw new Error(`Pod ${name} is ${status.phase}`);
    return status.phase as string;
  });
  const output = await inNamespace('logs', name);
  if (phase === 'Failed') throw new Error(`the client failed: ${output}`);
  return output.trim();
}

describe.each(engines)('$engine', ({ engine, kind, size, write, read, rotates, keepsData }) => {
  const resource = `${kind.toLowerCase()}s.platform.company.com/${engine}`;
  const pod = `${engine}-${kind.toLowerCase()}-0`;
  const spec = {
    owner: { kind: 'Application', name: 'app', namespace },
    targetRef: { name: 'in-cluster' },
    engine,
    size,
    ...(kind === 'Database' ? { backup: { enabled: true } } : {}),
  };
  const apply = (metadata: object = {}) =>
    platform.apply({ apiVersion, kind, metadata: { name: engine, namespace, ...metadata }, spec });
  const connectionName = async (): Promise<string> => (await json(resource)).status.connectionSecret.name;
  const passwordOf = async (): Promise<string> => (await json('secret', await connectionName())).data.password;
  const untilReady = async () => {
    await eventually(() => inNamespace('wait', '--for=condition=Ready', resource, '--timeout=60s'));
    await inNamespace('wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=120s');
  };
  // kube-proxy follows a new Pod within moments.
  const reads = () => eventually(async () => client(engine, read, await connectionName()));

  test('starts, and a client uses it with the connection Secret', async () => {
    await eventually(() => apply());
    await untilReady();
    await eventually(async () => client(engine, write, await connectionName()));
    expect(await reads()).toBe('kept');
  });

  if (rotates)
    test('takes a new password and refuses the one before', async () => {
      const before = await passwordOf();
      const kept = await json('secret', await connectionName());
      const metadata = { name: 'before', namespace };
      await platform.apply({ apiVersion: 'v1', kind: 'Secret', metadata, data: kept.data });
      await apply({
        labels: { 'broker.platform.company.com/rotate': 'once' },
        annotations: { 'platform.company.com/retry': 'once' },
      });
      await eventually(async () => expect(await passwordOf()).not.toBe(before));
      await untilReady();
      if (keepsData) expect(await reads()).toBe('kept');
      else await eventually(async () => client(engine, write, await connectionName()));
      // redis-cli prints the error and ends well.
      const refused = await client(engine, read, 'before').catch(String);
      expect(refused).toMatch(/authentication failed|Access denied|WRONGPASS|NOAUTH/);
    });

  test('a container that is killed is ready again within moments, also after a rotation', async () => {
    const { status, spec: placed } = await json('pod', pod);
    const [{ containerID, restartCount }] = status.containerStatuses;
    await platform.cluster.killContainer(placed.nodeName, containerID.replace('containerd://', ''));
    await eventually(async () => {
      const [container] = (await json('pod', pod)).status.containerStatuses;
      expect(container.restartCount).toBeGreaterThan(restartCount);
    });
    // With the previous password it would take two minutes.
    await inNamespace('wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=60s');
    if (keepsData) expect(await reads()).toBe('kept');
    else await eventually(async () => client(engine, write, await connectionName()));
  });

  if (kind === 'Database')
    test('a backup runs', async () => {
      await inNamespace('create', 'job', `--from=cronjob/${engine}-backup`, `${engine}-now`);
      await inNamespace('wait', '--for=condition=Complete', `job/${engine}-now`, '--timeout=120s');
    });

  if (kind === 'Cache')
    test('grows', async () => {
      await platform.apply({
        apiVersion,
        kind,
        metadata: { name: engine, namespace },
        spec: { ...spec, size: '128Mi' },
      });
      await eventually(async () => {
        const { spec: changed } = await json('statefulset', `${engine}-cache`);
        expect(changed.template.spec.containers[0].resources.limits.memory).toBe('224Mi');
      });
      await eventually(async () => {
        const { status } = await json('statefulset', `${engine}-cache`);
        expect([status.updateRevision, status.readyReplicas]).toEqual([status.currentRevision, 1]);
      });
      await untilReady();
    });

  test('leaves nothing when it is deleted', async () => {
    await inNamespace('delete', resource, '--timeout=120s');
    const kinds = 'statefulsets,services,secrets,persistentvolumeclaims,cronjobs,pods';
    const { items } = await json(kinds, '--selector', `broker.platform.company.com/resource-name=${engine}`);
    expect(items).toEqual([]);
  });
});
