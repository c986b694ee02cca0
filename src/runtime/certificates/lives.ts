/** The lifetimes of certificates, and the waiting times of their rotation. */
import { ConfigError } from '../errors.ts';

export interface CertificateLives {
  authorityMilliseconds?: number;
  leafMilliseconds?: number;
  /** The time by which the validity of a certificate starts in the past, for peers whose clock is behind. */
  backdateMilliseconds?: number;
  /** The time that consumers need to use a published bundle: an API server receives it through a watch. */
  settleMilliseconds?: number;
  /** The interval at which the store is read and this replica reports itself. */
  resyncMilliseconds?: number;
  /** A replica that has not reported for this time is considered gone; rotation no longer waits for it. */
  vanishMilliseconds?: number;
}

const day = 24 * 60 * 60 * 1000;
export const defaultLives: Required<CertificateLives> = {
  authorityMilliseconds: 365 * day,
  leafMilliseconds: 7 * day,
  backdateMilliseconds: 60 * 60 * 1000,
  settleMilliseconds: 60_000,
  resyncMilliseconds: 10_000,
  vanishMilliseconds: 300_000,
};

/** Rejects lifetimes that are too short for a rotation: they would cause endless rotations or an expired leaf. */
export function checkLives(lives: Required<CertificateLives>): void {
  if (lives.authorityMilliseconds < 3 * lives.leafMilliseconds) {
    throw new ConfigError({
      code: 'certificate-lives',
      message: 'The authority must live at least three times as long as its leaves',
      hint: 'Make leafMilliseconds shorter or authorityMilliseconds longer',
    });
  }
}
