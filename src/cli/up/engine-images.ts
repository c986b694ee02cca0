/**
 * Images of database and cache engines from Debian packages, for clusters without a registry. They follow the conventions of the usual images
 * (environment variables, data folder, user), as far as the kubernetes broker relies on them.
 */
import { readFile } from 'node:fs/promises';
import { type ImageArchitecture, imageArchive, type Progress, rootFileSystem, tar } from '../../controlplane/index.ts';

interface EngineImage {
  readonly engine: string;
  readonly packages: readonly string[];
  readonly user: number;
  /** Folders that the server writes to outside of its data. */
  readonly folders: readonly string[];
  /** Runs without a command; absent if the broker always gives one. */
  readonly entrypoint?: string;
  readonly path: string;
}

/** What scripts need. Nothing of a package runs when it is extracted, so that links are made here. */
const tools = ['dash', 'bash', 'coreutils', 'gzip', 'findutils', 'grep', 'sed'];
const systemPath = '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const images: readonly EngineImage[] = [
  {
    engine: 'postgresql',
    packages: ['postgresql-15', 'postgresql-client-15'],
    user: 999,
    folders: ['run/postgresql'],
    path: `/usr/lib/postgresql/15/bin:${systemPath}`,
    entrypoint: `set -eu
if [ ! -e "$PGDATA/.initialized" ]; then
  rm -rf "$PGDATA"
  printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 --locale=C.UTF-8
  rm /tmp/password
  printf 'host all all all scram-sha-256\\n' >> "$PGDATA/pg_hba.conf"
  pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses=''" --wait start
  [ "$POSTGRES_DB" = postgres ] || createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
  pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
  touch "$PGDATA/.initialized"
fi
exec postgres -D "$PGDATA" -c listen_addresses='*'
`,
  },
  {
    engine: 'mariadb',
    packages: ['mariadb-server', 'mariadb-client'],
    user: 999,
    folders: ['run/mysqld'],
    path: systemPath,
    entrypoint: `set -eu
data=/var/lib/mysql
if [ ! -e "$data/.initialized" ]; then
  find "$data" -mindepth 1 -delete
  mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=socket --skip-test-db --force
  touch "$data/.initialized"
fi
# Changes nothing if user and database exist.
cat > /tmp/user.sql <<SQL
CREATE DATABASE IF NOT EXISTS $MARIADB_DATABASE;
CREATE USER IF NOT EXISTS '$MARIADB_USER'@'%' IDENTIFIED BY '$MARIADB_PASSWORD';
GRANT ALL ON $MARIADB_DATABASE.* TO '$MARIADB_USER'@'%';
SQL
exec mariadbd --no-defaults --datadir="$data" --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid --bind-address=0.0.0.0 --init-file=/tmp/user.sql
`,
  },
  { engine: 'redis', packages: ['redis-server', 'redis-tools'], user: 999, folders: [], path: systemPath },
  { engine: 'memcached', packages: ['memcached'], user: 11_211, folders: [], path: systemPath },
];

interface EngineOptions {
  readonly onlyCached?: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

const architecture: ImageArchitecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** The names of the images by engine, as the flag `--image` of the broker takes them. */
export const engineImageNames: Readonly<Record<string, string>> = Object.fromEntries(
  images.map(({ engine }) => [engine, `engines.kidp.local/${engine}:bookworm`]),
);

/** `engineFileSystems` extracts the packages into the cache. */
export async function engineFileSystems(options: EngineOptions = {}): Promise<void> {
  for (const { packages } of images) await fileSystemOf(packages, options);
}

const fileSystemOf = (packages: readonly string[], options: EngineOptions) =>
  rootFileSystem({ packages: [...packages, ...tools], architecture, ...options });

/** Returns the archive of the image of an engine. */
export async function engineArchive(engine: string, options: EngineOptions = {}): Promise<Uint8Array> {
  const image = images.find((each) => each.engine === engine);
  if (image === undefined) throw new RangeError(`there is no image of ${engine}`);
  const { packages, user, folders, entrypoint, path } = image;
  const own = tar([
    { path: 'etc/passwd', content: `root:x:0:0::/root:/bin/sh\nengine:x:${user}:${user}::/tmp:/bin/sh\n` },
    { path: 'etc/group', content: `root:x:0:\nengine:x:${user}:\n` },
    { path: 'bin/sh', link: 'dash' },
    { path: 'run', directory: true },
    { path: 'tmp', directory: true, mode: 0o1777 },
    { path: 'var/run', link: '/run' },
    ...folders.map((folder) => ({ path: folder, directory: true, mode: 0o1777 })),
    ...(entrypoint === undefined ? [] : [{ path: 'entrypoint', content: entrypoint, mode: 0o755 }]),
  ]);
  return imageArchive({
    name: engineImageNames[engine] ?? engine,
    architecture,
    layers: [await readFile(await fileSystemOf(packages, options)), own],
    config: {
      User: `${user}:${user}`,
      Env: [`PATH=${path}`],
      WorkingDir: '/tmp',
      ...(entrypoint === undefined ? {} : { Entrypoint: ['sh', '/entrypoint'] }),
    },
  });
}
