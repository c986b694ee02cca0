/** A contestant: a webhook that answers "allowed" without looking, as little as Node lets one write. Says where it listens. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { issueAuthority, issueLeaf } from '../../src/runtime/internal.ts';

const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };
const authority = issueAuthority(validity);
const leaf = issueLeaf(authority, { ...validity, names: ['127.0.0.1', 'localhost'] });
let answered = 0;

const server = createServer(
  { cert: leaf.certificate, key: leaf.key, ALPNProtocols: ['http/1.1'], keepAliveTimeout: 120_000 },
  (request, response) => {
    if (request.method === 'GET') {
      response.end(JSON.stringify({ answered, residentBytes: process.memoryUsage.rss() }));
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { request: review } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      const body = JSON.stringify({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: review.uid, allowed: true },
      });
      answered += 1;
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
      response.end(body);
    });
  },
);
server.listen(0, '127.0.0.1', () => {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.stdout.write(`${JSON.stringify({ url, caBundle: authority.certificate })}\n`);
});
