import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionBudget } from './budget.ts';
import type { Flow } from './dispatcher.ts';
import { Pool } from './pool.ts';

const answer = (body: string, more = '') => `HTTP/1.1 200 OK\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;

const servers: Server[] = [];
const pools: Pool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.destroy()));
  for (const server of servers.splice(0)) server.close();
});

/** Starts a server that calls `onRequest` with each received piece, and a pool of connections to it. */
async function start(
  onRequest: (socket: Socket, text: string) => void,
  options: { connections?: number; idleMilliseconds?: number; budget?: ConnectionBudget } = {},
) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.setEncoding('latin1').on('data', (text: string) => onRequest(socket, text));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const pool = new Pool({
    host: 'test',
    connections: options.connections ?? 2,
    connectMilliseconds: 20_000,
    idleMilliseconds: options.idleMilliseconds ?? 50_000,
    budget: options.budget,
    open: ({ onread }) => connect({ host: '127.0.0.1', port, onread }),
  });
  pools.push(pool);
  return { pool, sockets, port };
}

/** Resolves to the body, or rejects with the error. */
function ask(
  pool: Pool,
  hooks: { path?: string; body?: string; onStart?: (flow: Flow) => void; onData?: (flow: Flow) => void } = {},
) {
  return new Promise<string>((resolve, reject) => {
    let body = '';
    pool.dispatch(
      { origin: '', method: 'PUT', path: hooks.path ?? '/', headers: [], body: hooks.body ?? null },
      {
        onRequestStart: (flow) => hooks.onStart?.(flow),
        onResponseStart() {},
        onResponseData(flow, chunk) {
          body += chunk.toString('latin1');
          hooks.onData?.(flow);
        },
        onResponseEnd: () => resolve(body),
        onResponseError: (_flow, error) => reject(error),
      },
    );
  });
}

describe('a pool of connections', () => {
  it('reuses connections up to its limit', async () => {
    const { pool, sockets } = await start((socket) => socket.write(answer('yes')));
    expect(await Promise.all(Array.from({ length: 20 }, () => ask(pool)))).toEqual(Array(20).fill('yes'));
    expect(sockets).toHaveLength(2);
    expect(await ask(pool)).toBe('yes');
    expect(sockets).toHaveLength(2);
  });

  it('does not reuse a connection that the server closes or answers before the request was sent', async () => {
    const { pool, sockets } = await start((socket) => socket.write(answer('yes', 'Connection: close\r\n')));
    for (let round = 0; round < 3; round += 1) expect(await ask(pool)).toBe('yes');
    expect(sockets).toHaveLength(3);

    const hasty = await start((socket) => {
      socket.pause();
      socket.write(answer('enough'));
    });
    expect(await ask(hasty.pool, { body: 'x'.repeat(30_000_000) })).toBe('enough');
    expect(await ask(hasty.pool)).toBe('enough');
    expect(hasty.sockets).toHaveLength(2);
  });

  it('does not accept an answer that arrived before its request', async () => {
    const { pool, sockets } = await start((socket) => socket.write(answer('yes') + answer('planted')), {
      connections: 1,
    });
    expect(await Promise.all([ask(pool), ask(pool), ask(pool)])).toEqual(['yes', 'yes', 'yes']);
    expect(sockets).toHaveLength(3);
  });

  for (const { reason, act } of [
    { reason: 'hangs up', act: (socket: Socket) => socket.destroy() },
    {
      reason: 'ends in the middle of the body',
      act: (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'),
    },
    { reason: 'resets', act: (socket: Socket) => socket.resetAndDestroy() },
  ]) {
    it(`reports a lost connection if the server ${reason}, and continues with the next`, async () => {
      let requests = 0;
      const { pool } = await start(
        (socket) => {
          requests += 1;
          if (requests === 1) act(socket);
          else socket.write(answer('yes'));
        },
        { connections: 1 },
      );
      const [first, second] = await Promise.allSettled([ask(pool), ask(pool)]);
      expect(first).toMatchObject({ status: 'rejected', reason: { code: 'ECONNRESET' } });
      expect(second).toMatchObject({ status: 'fulfilled', value: 'yes' });
    });
  }

  it('closes the connection of an aborted request, unless nothing was sent yet', async () => {
    const { pool, sockets } = await start((socket, text) => {
      if (!text.startsWith('PUT /silent')) socket.write(answer('yes'));
    });
    const late = ask(pool, { path: '/silent', onStart: (flow) => setImmediate(() => flow.abort(new Error('late'))) });
    await expect(late).rejects.toThrow('late');
    await expect(ask(pool, { onStart: (flow) => flow.abort(new Error('early')) })).rejects.toThrow('early');
    expect(await ask(pool)).toBe('yes');
    expect(sockets).toHaveLength(2);
  });

  it('ignores aborts of requests that are already answered', async () => {
    let flow: Flow | undefined;
    const { pool, sockets } = await start((socket) => socket.write(answer('yes')), { connections: 1 });
    await ask(pool, {
      onStart: (started) => {
        flow = started;
      },
    });
    const next = ask(pool);
    flow?.pause();
    flow?.abort(new Error('too late'));
    expect(await next).toBe('yes');
    expect(sockets).toHaveLength(1);
  });

  it('applies backpressure while paused, and loses nothing', async () => {
    const body = 'x'.repeat(20_000_000);
    const { pool } = await start((socket) => socket.write(answer(body)));
    let pauses = 0;
    const read = await ask(pool, {
      onData: (flow) => {
        if (flow.paused) return;
        pauses += 1;
        flow.pause();
        setImmediate(() => flow.resume());
      },
    });
    expect(read).toHaveLength(body.length);
    expect(pauses).toBeGreaterThan(10);
  });

  it('rejects invalid requests without harming the connection', async () => {
    const { pool, sockets } = await start((socket) => socket.write(answer('yes')));
    await expect(ask(pool, { path: '/a b' })).rejects.toThrow(TypeError);
    expect(await ask(pool)).toBe('yes');
    expect(sockets).toHaveLength(1);
  });

  it('closes connections that are idle for long', async () => {
    const { pool, sockets } = await start((socket) => socket.write(answer('yes')), { idleMilliseconds: 50 });
    await ask(pool);
    await new Promise((resolve) => sockets[0]?.once('close', resolve));
    expect(await ask(pool)).toBe('yes');
    expect(sockets).toHaveLength(2);
  });

  it('closes: requests in flight finish, new ones are rejected', async () => {
    const { pool } = await start((socket) => setImmediate(() => socket.write(answer('yes'))), { connections: 1 });
    const underWay = [ask(pool), ask(pool)];
    const closed = pool.close();
    await expect(ask(pool)).rejects.toMatchObject({ code: 'KIDP_CLOSED' });
    expect(await Promise.all(underWay)).toEqual(['yes', 'yes']);
    await closed;
  });

  it('is destroyed: waiting requests fail, and no connection is left', async () => {
    const { pool, sockets } = await start(() => {}, { connections: 1 });
    const waiting = [ask(pool, { onStart: () => setImmediate(() => pool.destroy()) }), ask(pool)];
    for (const result of await Promise.allSettled(waiting)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'KIDP_CLOSED' } });
    }
    await pool.destroy();
    for (const socket of sockets) if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
  });

  it('reports why there is no connection', async () => {
    const { pool, port } = await start(() => {});
    await new Promise((resolve) => servers.pop()?.close(resolve));
    await expect(ask(pool)).rejects.toMatchObject({ code: 'ECONNREFUSED', port });
    const deaf = new Pool({
      host: 'test',
      connections: 1,
      connectMilliseconds: 20,
      idleMilliseconds: 1_000,
      // The name lookup never completes, so the connection is never established.
      open: ({ onread }) => connect({ host: 'never.invalid', port, onread, lookup: () => {} }),
    });
    await expect(ask(deaf)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await deaf.destroy();
  });
});

describe('a request whose body is held back', () => {
  const proceed = 'HTTP/1.1 100 Continue\r\n\r\n';
  const hold = (pool: Pool, onContinue: (flow: Flow) => boolean, path: () => string = () => '/') =>
    new Promise<string>((resolve, reject) => {
      let body = '';
      pool.dispatchHeld(
        { origin: '', method: 'PUT', path, headers: [], body: Buffer.from('body') },
        {
          onRequestStart() {},
          onContinue,
          onResponseStart() {},
          onResponseData: (_flow, chunk) => {
            body += chunk.toString('latin1');
          },
          onResponseEnd: () => resolve(body),
          onResponseError: (_flow, error) => reject(error),
        },
      );
    });

  it('is sent when the server asks for it, on a connection that is reused', async () => {
    const pieces: string[] = [];
    const { pool, sockets } = await start(
      (socket, text) => {
        pieces.push(text.split('\r\n')[0] ?? '');
        socket.write(text.includes('expect: 100-continue') ? proceed : answer('yes'));
      },
      { connections: 1 },
    );
    expect(await Promise.all([hold(pool, () => true), ask(pool), hold(pool, () => true)])).toEqual(
      Array(3).fill('yes'),
    );
    expect(pieces).toEqual(['PUT / HTTP/1.1', 'body', 'PUT / HTTP/1.1', 'PUT / HTTP/1.1', 'body']);
    expect(sockets).toHaveLength(1);
  });

  it('is not sent twice, nor to a server that has already answered, whose connection is not reused', async () => {
    const bodies: string[] = [];
    const { pool, sockets } = await start(
      (socket, text) => {
        if (text === 'body') bodies.push(text);
        else if (sockets.length === 1) socket.write(answer('no'));
        else socket.write(proceed + proceed);
        if (text === 'body') socket.write(answer('yes'));
      },
      { connections: 1 },
    );
    expect(await hold(pool, () => true)).toBe('no');
    expect(bodies).toEqual([]);
    expect(await hold(pool, () => true)).toBe('yes');
    expect(bodies).toEqual(['body']);
    expect(sockets).toHaveLength(2);
  });

  it('is not sent if it is refused at the last moment, and its path is computed when it has a connection', async () => {
    const bodies: string[] = [];
    const { pool } = await start((socket, text) => {
      if (text === 'body') bodies.push(text);
      socket.write(text.startsWith('PUT /plain') ? answer('yes') : proceed);
    });
    const refused = hold(pool, (flow) => {
      flow.abort(new Error('too late'));
      return false;
    });
    await expect(refused).rejects.toThrow('too late');
    const never = hold(
      pool,
      () => true,
      () => {
        throw new Error('no time left');
      },
    );
    await expect(never).rejects.toThrow('no time left');
    expect(await ask(pool, { path: '/plain' })).toBe('yes');
    expect(bodies).toEqual([]);
  });
});

describe('pools with a budget', () => {
  const many = (start: number, count: number) => Array.from({ length: count }, (_, index) => start + index);

  it('share its limit of connections, and answer every request', async () => {
    const budget = new ConnectionBudget(3);
    const all = await Promise.all(
      many(0, 4).map(() =>
        start((socket) => setImmediate(() => socket.write(answer('ok'))), { connections: 2, budget }),
      ),
    );
    const asked = many(0, 60).map((index) => ask((all[index % all.length] as (typeof all)[number]).pool));
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['ok']));
    expect(budget.most).toBe(3);
    expect(budget.wanted).toBe(false);
    await Promise.all(all.map(({ pool }) => pool.destroy()));
    expect(budget.open).toBe(0);
  });

  it('close an idle connection of one pool for a new one of another only if the limit is reached', async () => {
    const budget = new ConnectionBudget(1);
    const [one, other] = await Promise.all(
      many(0, 2).map(() => start((socket) => socket.write(answer('ok')), { budget })),
    );
    await ask(one?.pool as Pool);
    await ask(one?.pool as Pool);
    expect(one?.sockets).toHaveLength(1);
    await ask(other?.pool as Pool);
    expect(budget.open).toBe(1);
    await ask(one?.pool as Pool);
    expect(one?.sockets).toHaveLength(2);
  });

  it('release a connection that could not be established', async () => {
    const budget = new ConnectionBudget(1);
    const { pool } = await start(() => {}, { budget });
    servers.at(-1)?.close();
    await expect(ask(pool)).rejects.toThrow();
    const next = await start((socket) => socket.write(answer('ok')), { budget });
    expect(await ask(next.pool)).toBe('ok');
    expect(budget.open).toBe(1);
  });
});
