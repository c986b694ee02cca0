/** What `kidp up` has started. */
import type { Platform } from '../../platform/index.ts';
import { describeFailure } from '../common/failure.ts';

export interface Running {
  /** The lines to print once everything is ready. */
  welcome: readonly string[];
  /** Resolves with the reason if it ends without having been stopped. */
  ended?: Promise<string>;
}

/** `endOf` resolves with a message for the terminal if the controllers stop on their own. */
export async function endOf({ ended }: Platform): Promise<string> {
  const why = await ended.then(
    () => 'nothing requested it',
    (error: unknown) => describeFailure(error),
  );
  return `the controllers stopped unexpectedly: ${why}\nStart kidp again; if this happens again, report it with the lines above.`;
}
