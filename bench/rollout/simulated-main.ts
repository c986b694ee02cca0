/**
 * The API servers of all simulated clusters, in a process of its own, so that what it takes is not counted: each is a
 * path of one server. Words: how many operators are on each, and the milliseconds that a list and a dry run take.
 * Prints where it is and whom to trust.
 */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { issueAuthority, issueLeaf } from '../../src/runtime/internal.ts';
import { listsOf } from './simulated-objects.ts';

const [operators = 0, listMilliseconds = 0, dryRunMilliseconds = 0] = process.argv.slice(2).map(Number);
const now = Date.now();
const times = { now, validMilliseconds: 86_400_000, backdateMilliseconds: 60_000 };
const authority = issueAuthority(times);
const { certificate: cert, key } = issueLeaf(authority, { ...times, names: ['127.0.0.1'] });

const lists = new Map([...listsOf(operators)].map(([plural, text]) => [plural, Buffer.from(text)]));
const noItems = Buffer.from('{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[]}');
const json = { 'content-type': 'application/json' };
const statistics = { open: 0, most: 0, opened: 0, requests: 0 };

const server = createServer({ cert, key }, (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'https://simulated');
  const plural = pathname.split('/').at(-1) ?? '';
  if (plural === 'statistics') {
    response.writeHead(200, json).end(JSON.stringify(statistics));
    return;
  }
  statistics.requests += 1;
  if (request.method === 'POST') {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const object = Buffer.concat(parts);
      const answer = () => response.writeHead(201, { ...json, 'content-length': object.length }).end(object);
      setTimeout(answer, dryRunMilliseconds);
    });
    return;
  }
  request.resume();
  if (searchParams.has('watch')) {
    // Nothing changes; it ends with whoever watches.
    response.writeHead(200, json).flushHeaders();
    return;
  }
  const list = plural === 'version' ? Buffer.from('{}') : (lists.get(plural) ?? noItems);
  const answer = () => response.writeHead(200, { ...json, 'content-length': list.length }).end(list);
  setTimeout(answer, listMilliseconds);
});
server.keepAliveTimeout = 120_000;
server.on('connection', (socket) => {
  statistics.opened += 1;
  statistics.open += 1;
  statistics.most = Math.max(statistics.most, statistics.open);
  socket.on('close', () => {
    statistics.open -= 1;
  });
});
server.listen(0, '127.0.0.1', () => {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.stdout.write(`${JSON.stringify({ url, authority: authority.certificate })}\n`);
});
// Whoever started it is gone, however that came about.
process.stdin.resume().on('close', () => process.exit());
