/** A small OCI registry on this machine, sufficient for `helm push` and for pulling. It can require tokens. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface ChartRegistry {
  /** `127.0.0.1:port` */
  readonly host: string;
  /** From now on requires a token, which clients get for these credentials. */
  protect(username: string, password: string): void;
  /** The requests so far, such as `GET /v2/`. */
  readonly asked: readonly string[];
  stop(): Promise<void>;
}

const token = 'a-token-of-the-registry';

export async function serveRegistry(): Promise<ChartRegistry> {
  const blobs = new Map<string, Buffer>();
  const manifests = new Map<string, { readonly type: string; readonly bytes: Buffer }>();
  const asked: string[] = [];
  let basic: string | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request;
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://registry');
    asked.push(`${method} ${pathname}`);
    const body = await buffer(request);
    const end = (status: number, content: Buffer | string = '', more: Record<string, string> = {}) =>
      response.writeHead(status, more).end(method === 'HEAD' ? undefined : content);
    if (pathname === '/token') {
      return void (headers.authorization === basic ? end(200, JSON.stringify({ token })) : end(401));
    }
    if (basic !== undefined && headers.authorization !== `Bearer ${token}`) {
      const realm = `http://${headers.host}/token`;
      return void end(401, '', {
        'www-authenticate': `Bearer realm="${realm}",service="here",scope="repository:x:pull"`,
      });
    }
    const [, name = '', what = '', reference = ''] = /^\/v2\/(.+)\/(manifests|blobs|tags)\/(.*)$/.exec(pathname) ?? [];
    if (what === '') return void end(200);
    if (what === 'tags') {
      const tags = [...manifests.keys()]
        .filter((key) => key.startsWith(`${name}:`))
        .map((key) => key.split(':')[1] ?? '');
      return void (tags.length === 0 ? end(404) : end(200, JSON.stringify({ name, tags: tags.filter(isTag) })));
    }
    if (what === 'blobs' && method === 'POST') return void end(202, '', { location: `/v2/${name}/blobs/uploads/one` });
    if (method === 'PUT' && what === 'blobs') {
      blobs.set(searchParams.get('digest') ?? '', body);
      return void end(201);
    }
    if (method === 'PUT') {
      const manifest = { type: headers['content-type'] ?? '', bytes: body };
      for (const each of [reference, digestOf(body)]) manifests.set(`${name}:${each}`, manifest);
      return void end(201, '', { 'docker-content-digest': digestOf(body) });
    }
    const found = what === 'blobs' ? blobs.get(reference) : manifests.get(`${name}:${reference}`)?.bytes;
    if (found === undefined) return void end(404);
    const type = manifests.get(`${name}:${reference}`)?.type ?? 'application/octet-stream';
    end(200, found, {
      'content-type': type,
      'content-length': String(found.length),
      'docker-content-digest': digestOf(found),
    });
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    protect: (username, password) => {
      basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    },
    asked,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

const isTag = (tag: string): boolean => !tag.startsWith('sha256');
const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
