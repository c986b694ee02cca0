/** Users with the rights of manifests/rbac: each has a client certificate and tokens for the REST API. */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { parseAllDocuments } from 'yaml';
import type { AuthenticationOptions } from '../../../src/rest/index.ts';
import { type Client, connect, loadKubeconfig, type UnknownObject } from '../../../src/runtime/index.ts';
import type { Stage } from './testbed.ts';

const rbac = join(import.meta.dirname, '..', '..', '..', 'manifests', 'rbac');

export interface People {
  /** The issuer that the REST API trusts. */
  readonly authentication: AuthenticationOptions;
  client(name: string, ...groups: readonly string[]): Promise<Client>;
  token(name: string, ...groups: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

export async function inviteOnto({ client, management, keys }: Stage): Promise<People> {
  for (const file of ['roles.yaml', 'bindings.yaml']) {
    for (const document of parseAllDocuments(await readFile(join(rbac, file), 'utf8'))) {
      const object = document.toJS() as UnknownObject;
      const plural = `${object.kind.toLowerCase()}s`;
      const resource = { group: 'rbac.authorization.k8s.io', version: 'v1', kind: object.kind, plural };
      await client.create({ ...resource, namespaced: false }, object);
    }
  }
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const file = join(dirname(keys), 'token-keys.json');
  await writeFile(file, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }));
  const [issuer, audience] = ['the test', 'kidp'];
  const clients: Client[] = [];
  return {
    authentication: { keys: { file }, issuer, audience },
    async client(name, ...groups) {
      const made = connect(loadKubeconfig({ file: await management.kubeconfigFor({ name, groups }) }));
      clients.push(made);
      return made;
    },
    token: (name, ...groups) =>
      new SignJWT({ groups })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setSubject(name)
        .setIssuer(issuer)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
    async stop() {
      await Promise.all(clients.map((each) => each.close()));
    },
  };
}
