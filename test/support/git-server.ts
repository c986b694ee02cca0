/** Git repositories in a temporary directory, served over HTTP by git's own `http-backend`, for what pulls from Git. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export interface GitRepository {
  readonly url: string;
  /** Writes these files (null removes one) and commits them to `main`. Resolves to the commit's hash. */
  commit(files: Readonly<Record<string, string | null>>, message?: string): Promise<string>;
}

export interface GitServer {
  /** A new, empty repository. */
  repository(name: string): Promise<GitRepository>;
  close(): Promise<void>;
}

export async function serveGit(): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), 'kidp-git-'));
  const server = createServer((request, response) => answer(root, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    async repository(name) {
      const tree = join(root, `${name}-tree`);
      await git(
        root,
        'init',
        '--quiet',
        '--initial-branch=main',
        `--separate-git-dir=${join(root, `${name}.git`)}`,
        tree,
      );
      return {
        url: `http://127.0.0.1:${port}/${name}.git`,
        async commit(files, message = 'change') {
          for (const [file, content] of Object.entries(files)) {
            const path = join(tree, file);
            mkdirSync(dirname(path), { recursive: true });
            if (content === null) rmSync(path);
            else writeFileSync(path, content);
          }
          await git(tree, 'add', '--all');
          await git(tree, 'commit', '--quiet', '--allow-empty', `--message=${message}`);
          return git(tree, 'rev-parse', 'HEAD');
        },
      };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Nothing of the user's or the machine's configuration: no signing, no hooks, no other branch name. */
const environment = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A Developer',
  GIT_AUTHOR_EMAIL: 'developer@example.com',
  GIT_COMMITTER_NAME: 'A Developer',
  GIT_COMMITTER_EMAIL: 'developer@example.com',
};

async function git(directory: string, ...flags: string[]): Promise<string> {
  const { stdout } = await execute('git', flags, { cwd: directory, env: environment });
  return stdout.trim();
}

/** The Common Gateway Interface (RFC 3875) as far as `git http-backend` needs it. */
function answer(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const header = (name: string): string => String(request.headers[name] ?? '');
  const backend = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      ...environment,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: header('content-type'),
      CONTENT_LENGTH: header('content-length'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      GIT_PROTOCOL: header('git-protocol'),
    },
  });
  backend.on('error', () => response.destroy());
  // It may end before it has read all of it.
  backend.stdin.on('error', () => undefined);
  request.pipe(backend.stdin);
  let head = Buffer.alloc(0);
  backend.stdout.on('data', (chunk: Buffer) => {
    if (response.headersSent) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const fields = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line) => line.split(/:\s*/, 2) as [string, string]);
    const status = fields.find(([name]) => name.toLowerCase() === 'status')?.[1];
    response.writeHead(Number.parseInt(status ?? '200', 10), Object.fromEntries(fields));
    response.write(head.subarray(end + 4));
  });
  backend.stdout.on('end', () => response.end());
}
