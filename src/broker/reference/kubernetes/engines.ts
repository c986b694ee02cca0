/** The database engines that the reference broker supports: image, port, and the commands to log in, back up and change the password. */

export interface Engine {
  readonly image: string;
  readonly version: string;
  readonly port: number;
  readonly scheme: string;
  readonly dataPath: string;
  /** The user ID that the image runs as. */
  readonly user: number;
  /** Environment variables and the keys of the credentials Secret that they are set from. */
  readonly fromSecret: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Succeeds if the server accepts the password in the Secret over TCP, as it must from clients. Runs in the container, with the
   * variables of `fromSecret`. A server that is still being initialized does not listen to TCP.
   */
  readonly login: string;
  /** Changes the password of the user from the previous one to the one in the Secret. */
  readonly setPassword: string;
  /** Writes a dump of the database to standard output. Runs in another Pod, with HOST and the variables of `fromSecret`. */
  readonly dump: string;
}

export const engines: Readonly<Record<string, Engine>> = {
  postgresql: {
    image: 'postgres',
    version: '17',
    port: 5432,
    scheme: 'postgresql',
    dataPath: '/data',
    user: 999,
    fromSecret: { POSTGRES_USER: 'username', POSTGRES_PASSWORD: 'password', POSTGRES_DB: 'database' },
    environment: { PGDATA: '/data/pgdata' },
    // Images trust connections from loopback: only another address asks for the password.
    login:
      'PGPASSWORD="$POSTGRES_PASSWORD" psql -qtA -h "$HOSTNAME" -U "$POSTGRES_USER" -d "$POSTGRES_DB" -c "SELECT 1"',
    setPassword: `psql -q -U "$POSTGRES_USER" -d "$POSTGRES_DB" -v ON_ERROR_STOP=1 -c "ALTER USER \\"$POSTGRES_USER\\" PASSWORD '$POSTGRES_PASSWORD'"`,
    dump: 'PGPASSWORD="$POSTGRES_PASSWORD" pg_dump -h "$HOST" -U "$POSTGRES_USER" "$POSTGRES_DB"',
  },
  mysql: {
    image: 'mysql',
    version: '8.4',
    port: 3306,
    scheme: 'mysql',
    dataPath: '/var/lib/mysql',
    user: 999,
    fromSecret: {
      MYSQL_USER: 'username',
      MYSQL_PASSWORD: 'password',
      MYSQL_PREVIOUS_PASSWORD: 'previous-password',
      MYSQL_DATABASE: 'database',
    },
    environment: { MYSQL_RANDOM_ROOT_PASSWORD: 'yes' },
    login: 'mysql -h 127.0.0.1 -u "$MYSQL_USER" -p"$MYSQL_PASSWORD" -e "SELECT 1"',
    setPassword: `mysql -h 127.0.0.1 -u "$MYSQL_USER" -p"$MYSQL_PREVIOUS_PASSWORD" -e "ALTER USER USER() IDENTIFIED BY '$MYSQL_PASSWORD'"`,
    dump: 'mysqldump -h "$HOST" -u "$MYSQL_USER" -p"$MYSQL_PASSWORD" --single-transaction --no-tablespaces "$MYSQL_DATABASE"',
  },
  mariadb: {
    image: 'mariadb',
    version: '11.4',
    port: 3306,
    scheme: 'mysql',
    dataPath: '/var/lib/mysql',
    user: 999,
    fromSecret: {
      MARIADB_USER: 'username',
      MARIADB_PASSWORD: 'password',
      MARIADB_PREVIOUS_PASSWORD: 'previous-password',
      MARIADB_DATABASE: 'database',
    },
    environment: { MARIADB_RANDOM_ROOT_PASSWORD: 'yes' },
    login: 'mariadb -h 127.0.0.1 -u "$MARIADB_USER" -p"$MARIADB_PASSWORD" -e "SELECT 1"',
    // ALTER USER needs the privilege CREATE USER, also for the user's own password.
    setPassword: `mariadb -h 127.0.0.1 -u "$MARIADB_USER" -p"$MARIADB_PREVIOUS_PASSWORD" -e "SET PASSWORD = PASSWORD('$MARIADB_PASSWORD')"`,
    dump: 'mariadb-dump -h "$HOST" -u "$MARIADB_USER" -p"$MARIADB_PASSWORD" --single-transaction "$MARIADB_DATABASE"',
  },
  mongodb: {
    image: 'mongo',
    version: '7.0',
    port: 27017,
    scheme: 'mongodb',
    dataPath: '/data/db',
    user: 999,
    fromSecret: {
      MONGO_INITDB_ROOT_USERNAME: 'username',
      MONGO_INITDB_ROOT_PASSWORD: 'password',
      MONGO_PREVIOUS_PASSWORD: 'previous-password',
      MONGO_INITDB_DATABASE: 'database',
    },
    login:
      'mongosh --quiet -u "$MONGO_INITDB_ROOT_USERNAME" -p "$MONGO_INITDB_ROOT_PASSWORD" --authenticationDatabase admin --eval "db.adminCommand({ping: 1}).ok" | grep -q 1',
    setPassword: `mongosh --quiet -u "$MONGO_INITDB_ROOT_USERNAME" -p "$MONGO_PREVIOUS_PASSWORD" --authenticationDatabase admin --eval "db.getSiblingDB('admin').changeUserPassword('$MONGO_INITDB_ROOT_USERNAME', '$MONGO_INITDB_ROOT_PASSWORD')"`,
    dump: 'mongodump --host "$HOST" -u "$MONGO_INITDB_ROOT_USERNAME" -p "$MONGO_INITDB_ROOT_PASSWORD" --authenticationDatabase admin --archive',
  },
};
