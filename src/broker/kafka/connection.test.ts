import type { ConnectionOptions } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../runtime/index.ts';
import { issueAuthority, issueLeaf } from '../../runtime/internal.ts';
import { clientOptions, type KafkaTls } from './connection.ts';

const validity = { now: Date.now(), validMilliseconds: 60_000, backdateMilliseconds: 60_000 };
const authority = issueAuthority(validity);

function pair(name: string): KafkaTls {
  const { certificate: cert, key } = issueLeaf(authority, { ...validity, client: { commonName: name } });
  return { ca: authority.certificate, cert, key };
}

describe('certificates', () => {
  it('are asked for at each connection; what cannot be read or does not belong together is not used', () => {
    const [first, second] = [pair('first'), pair('second')];
    const logged: string[] = [];
    let read = () => first;
    const log = { ...silentLogger, error: (message: string) => void logged.push(message) };
    const { tls } = clientOptions({ bootstrapServers: ['a:1'], clientId: 'test', log, tls: () => read() });
    // As the client does it, for each connection.
    const shown = () => ({ ...(tls as ConnectionOptions) }).secureContext;
    const before = shown();
    expect(shown()).toBe(before);
    read = () => {
      throw new Error('no such file');
    };
    expect(shown()).toBe(before);
    read = () => ({ ...second, key: first.key });
    expect(shown()).toBe(before);
    expect(logged).toHaveLength(2);
    read = () => second;
    const after = shown();
    expect(after).not.toBe(before);
    expect(shown()).toBe(after);
    expect(logged).toHaveLength(2);
  });

  it('are not needed where nothing is encrypted', () => {
    expect(clientOptions({ bootstrapServers: ['a:1'], clientId: 'test', log: silentLogger })).not.toHaveProperty('tls');
  });
});
