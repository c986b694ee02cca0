/**
 * No contestant but the floor: a socket that stays open, requests written beforehand, answers that nobody looks at. What it takes for a
 * list or a status patch is the API server's and the socket's own time; no client can be faster. Prints what it took.
 */
import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import { loadKubeconfig } from '../../src/runtime/index.ts';
import type { Material } from '../../src/runtime/internal.ts';
import type { FloorMeasures } from './main.ts';
import {
  configMaps,
  listed,
  objectCount,
  patchesAtOnce,
  ratePatches,
  statusOf,
  thingOf,
  things,
  watched,
} from './objects.ts';

const config = loadKubeconfig({ file: process.argv[2] ?? '' });
const server = new URL(config.server);
const pem = (material: Material | undefined): string =>
  material === undefined ? '' : 'data' in material ? material.data : readFileSync(material.file, 'utf8');

const open = (): TLSSocket =>
  connect({
    host: server.hostname,
    port: Number(server.port),
    ca: pem(config.certificateAuthority),
    cert: pem(config.clientCertificate),
    key: pem(config.clientKey),
    ALPNProtocols: ['http/1.1'],
  });

class Line {
  readonly #socket = open();
  #answered: (() => void) | undefined;
  #text = '';

  constructor() {
    this.#socket.setNoDelay().setEncoding('latin1');
    this.#socket.on('data', (text: string) => this.#take(text));
  }

  send(request: string): Promise<void> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(request);
    });
  }

  end(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    const head = this.#text.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = /content-length: (\d+)/i.exec(this.#text.slice(0, head));
    if (length === null || this.#text.length < head + 4 + Number(length[1])) return;
    if (!this.#text.startsWith('HTTP/1.1 200')) throw new Error(`refused: ${this.#text.slice(0, 200)}`);
    this.#text = '';
    this.#answered?.();
  }
}

const listMilliseconds = await timeList();
const free = Array.from({ length: patchesAtOnce }, () => new Line());
const patches = await ratePatches(async (number) => {
  const line = free.pop();
  if (line === undefined) throw new Error('more patches at once than lines');
  await line.send(requestOf(number));
  free.push(line);
});
process.stdout.write(JSON.stringify({ listMilliseconds, ...patches } satisfies FloorMeasures));
for (const line of free) line.end();

function requestOf(number: number): string {
  const { group, version, plural } = things;
  const body = JSON.stringify(statusOf(number));
  return (
    `PATCH /apis/${group}/${version}/namespaces/${watched}/${plural}/${thingOf('bare', number)}/status HTTP/1.1\r\nhost: ${server.host}\r\n` +
    `accept: application/json\r\ncontent-type: application/merge-patch+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** The list as ours asks for it, packed, until its last byte is there; neither unpacked nor parsed. */
function timeList(): Promise<number> {
  const started = performance.now();
  const socket = open();
  socket.write(
    `GET /api/${configMaps.version}/namespaces/${listed}/${configMaps.plural}?limit=${objectCount} HTTP/1.1\r\nhost: ${server.host}\r\n` +
      `accept: application/json\r\naccept-encoding: gzip\r\n\r\n`,
  );
  return new Promise((resolve, reject) => {
    let bytes = 0;
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      // The chunk of no length that ends the answer.
      if (!chunk.subarray(-5).equals(Buffer.from('0\r\n\r\n'))) return;
      socket.destroy();
      if (bytes < objectCount * 50) reject(new Error(`a list of ${objectCount} objects in ${bytes} bytes`));
      else resolve(performance.now() - started);
    });
  });
}
