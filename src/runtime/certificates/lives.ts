/** How long certificates live, and how long their rotation waits for others. */
import { ConfigError } from '../errors.ts';

export interface CertificateLives {
  authorityMilliseconds?: number;
  leafMilliseconds?: number;
  /** How far certificates begin in the past, for peers whose clock is behind. */
  backdateMilliseconds?: number;
  /** How long consumers take to act on a published bundle: an API server learns of it by a watch. */
  settleMilliseconds?: number;
  /** How often the store is read, and this replica reported. */
  resyncMilliseconds?: number;
  /** A replica that has not reported for this long is gone and no longer waited for. */
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

/** A life that leaves no time to turn would rotate for ever or serve an expired leaf; better refused at the start. */
export function checkLives(lives: Required<CertificateLives>): void {
  if (lives.authorityMilliseconds < 3 * lives.leafMilliseconds) {
    throw new ConfigError({
      code: 'certificate-lives',
      message: 'The authority must live at least three times as long as its leaves',
      hint: 'Make leafMilliseconds shorter or authorityMilliseconds longer',
    });
  }
}
