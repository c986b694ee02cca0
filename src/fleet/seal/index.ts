/**
 * Kubeconfigs at rest: sealed with AES-256-GCM to a key that is never stored in Kubernetes.
 *
 * In: a kubeconfig as text, keys from a file or a command. Out: the content of a Secret, and back. It must not know
 * what is in a kubeconfig.
 */
export { type KeyRing, newKeySet, readKeyRing, readSealingKey, type SealingKey } from './key-ring.ts';
export { keysFromCommand, keysFromFile, type SealingKeys } from './key-source.ts';
export { fetchSealingKey, publishSealingKey } from './published-key.ts';
export { openKubeconfig, sealKubeconfig } from './seal.ts';
export {
  readSealedSecret,
  replaceSealed,
  type SealedSecret,
  type SecretObject,
  sealedSecret,
  sealedSecretName,
  sealedSecretSelector,
} from './sealed-secret.ts';
