import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { createLocalJWKSet, type JWK } from 'jose';
import type { Broker } from '../../../src/api/index.ts';
import { brokerVerifier, findBroker, IdentityError } from '../../../src/broker/identity/index.ts';
import { authenticate } from '../../../src/rest/authenticate.ts';
import { silentLogger } from '../../../src/runtime/index.ts';
import { Problem } from '../../../src/runtime/internal.ts';
import { FakeClock } from '../../../src/runtime/testing/index.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const clock = new FakeClock(Date.UTC(2026, 0, 1));
const now = clock.now() / 1000;
const scope = 'status:write';
/** Fixed, so that the signatures in the corpus stay valid. It protects nothing. */
const privateKey = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
  format: 'der',
  type: 'pkcs8',
});
const jwk = { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid: 'k1', alg: 'EdDSA' } as JWK;
const brokers = [
  { metadata: { name: 'azure' }, spec: { channel: 'HTTP', identity: { publicKeys: [JSON.stringify(jwk)] } } },
] as unknown as Broker[];
const verifier = brokerVerifier({
  broker: (identity) => findBroker(brokers, identity),
  audience: 'kidp',
  log: silentLogger,
  clock,
});
const rules = { keys: createLocalJWKSet({ keys: [jwk] }), audience: 'kidp', clock };

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? '').toString('base64url');
const signed = (header: unknown, payload: string): string => {
  const text = `${encode(header)}.${payload}`;
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
};

const header = { alg: 'EdDSA', kid: 'k1' };
const claims = {
  iss: 'azure',
  sub: 'azure',
  aud: 'kidp',
  scope,
  iat: now,
  exp: now + 300,
  groups: ['kidp:admin', 'system:masters'],
};
const token = signed(header, encode(claims));
const [head, , seal] = signed({ ...header, iss: 'azure', sub: 'azure' }, Buffer.from('{}').toString('base64url')).split(
  '.',
);
const detached = `${head}..${seal}`;

export const target: Target = {
  about: 'JWT: tokens and signatures of brokers, and tokens of users of the REST API',
  modules: [
    'src/broker/identity/',
    'src/rest/authenticate.ts',
    'src/rest/caller.ts',
    'src/runtime/outbound/strict-json.ts',
  ],
  words: [
    'alg',
    'none',
    'HS256',
    'EdDSA',
    'ES256',
    'kid',
    'jwk',
    'jku',
    'x5u',
    'crit',
    'b64',
    'iss',
    'sub',
    'aud',
    'exp',
    'nbf',
    'scope',
    'groups',
    'typ',
    'azure',
    'kidp',
    'k1',
    'kidp:admin',
    'system:masters',
    'system:',
    '.',
    '..',
    'eyJ',
    '=',
    '__proto__',
    token,
    detached,
  ],
  isJson: true,
  mostBytes: 2_048,
  // A list of a header and claims is signed; anything else is a token, a detached signature or a key set as it was received.
  seeds: () => [
    token,
    detached,
    JSON.stringify([header, claims]),
    JSON.stringify([{ ...header, crit: ['b64'], b64: false }, claims]),
    JSON.stringify([{ alg: 'none' }, { ...claims, nbf: now + 3600 }]),
    JSON.stringify([header, { ...claims, exp: now - 3600, aud: ['a', 'kidp'] }]),
    JSON.stringify([header, { ...claims, sub: 'system:admin' }]),
  ],
  async run(input) {
    const text = input.toString('utf8');
    const pair = pairIn(text);
    const tried = pair === undefined ? text : signed(pair[0], encode(pair[1]));
    const isOurs =
      pair !== undefined || tried.split('.').slice(0, 2).join('.') === token.split('.').slice(0, 2).join('.');
    const broker = await refusable(() => verifier.token(tried, scope));
    if (broker !== undefined) {
      const said = pair === undefined ? claims : (pair[1] as typeof claims);
      ensure(
        isOurs && said.iss === 'azure' && said.sub === 'azure',
        'only a signed token of the broker is accepted',
        () => tried,
      );
      ensure(
        [said.aud].flat().includes('kidp') && said.exp > now - 31 && said.exp < now + 3631,
        'only a current token for us is accepted',
        () => JSON.stringify(said),
      );
    }
    const caller = await refusable(() => authenticate(`Bearer ${tried}`, rules));
    if (caller !== undefined) {
      ensure(isOurs, 'only a signed token is accepted', () => tried);
      ensure(
        /^[\x20-\x7e]+$/.test(caller.user) && !caller.user.startsWith('system:'),
        'a user name can be impersonated',
        () => caller.user,
      );
      ensure(
        caller.groups.every((group) => group.startsWith('kidp:')),
        'no group of the cluster is granted',
        () => String(caller.groups),
      );
    }
    await refusable(() => authenticate(text, rules));
    const sender = await refusable(() => verifier.signature(Buffer.from('{}'), text));
    ensure(
      sender === undefined || text.startsWith(`${head}..`),
      'only a signature of the broker is accepted',
      () => text,
    );
  },
};

function pairIn(text: string): [unknown, unknown] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && typeof value[1] === 'object' && value[1] !== null ? [value[0], value[1]] : undefined;
  } catch {
    return undefined;
  }
}

/** Bad input is refused with an IdentityError or a Problem 401, and with no other. */
async function refusable<Result>(act: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof IdentityError || (error instanceof Problem && error.status === 401)) return undefined;
    throw error;
  }
}
