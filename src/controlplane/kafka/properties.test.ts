import { describe, expect, it } from 'vitest';
import { serverProperties } from './properties.ts';

const options = { storage: '/data/kafka', ports: { client: 21_000, controller: 21_001 } };

describe('serverProperties', () => {
  it('listens on loopback only, and leaves it to people to make topics', () => {
    const lines = serverProperties(options).split('\n');
    expect(lines).toContain('listeners=CLIENT://127.0.0.1:21000,CONTROLLER://127.0.0.1:21001');
    expect(lines).toContain('listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT');
    expect(lines).toContain('auto.create.topics.enable=false');
    expect(lines).toContain('log.dirs=/data/kafka');
    expect(lines.filter((line) => line.startsWith('ssl.'))).toEqual([]);
  });

  it('demands a certificate on every listener where there is TLS', () => {
    const lines = serverProperties({ ...options, tls: { keyStore: '/k.pem', trustStore: '/t.pem' } }).split('\n');
    expect(lines).toContain('listener.security.protocol.map=CLIENT:SSL,CONTROLLER:SSL');
    expect(lines).toContain('ssl.client.auth=required');
    expect(lines).toContain('ssl.keystore.location=/k.pem');
    expect(lines).toContain('ssl.truststore.location=/t.pem');
  });

  it('lets settings win over its own', () => {
    const lines = serverProperties({ ...options, settings: { 'auto.create.topics.enable': 'true', 'x.y': 'z' } }).split(
      '\n',
    );
    expect(lines).toContain('auto.create.topics.enable=true');
    expect(lines).toContain('x.y=z');
    expect(lines.filter((line) => line.startsWith('auto.create'))).toHaveLength(1);
  });
});
