/**
 * Identities: the platform's own keys and tokens, and the verification of others.
 *
 * In: Broker objects, and tokens and signatures from anywhere. Out: the verified Broker, or an `IdentityError` with the
 * reason. This module does not know what a message says, only who sent it.
 */
export { brokerEncryption } from './broker-encryption.ts';
export {
  type BrokerVerifier,
  brokerVerifier,
  findBroker,
} from './broker-verifier.ts';
export { encryptTo } from './encryption.ts';
export type { KeySetAddress } from './fetch-key-set.ts';
export { IdentityError, type RefusalReason } from './identity-error.ts';
export { type KeyRing, type KeyRingOptions, openKeyRing } from './key-ring.ts';
export type { KeyLives } from './key-schedule.ts';
export { fileKeyStore, type KeyStore, memoryKeyStore, secretKeyStore } from './key-store.ts';
export { type IdentityMetrics, identityMetrics } from './metrics.ts';
export {
  DEPLOYMENTS_SCOPE,
  PLATFORM_ISSUER,
  PLATFORM_SUBJECT,
  type PlatformVerifier,
  platformVerifier,
  STATUS_SCOPE,
} from './platform-verifier.ts';
export { publishedIdentity } from './published-identity.ts';
