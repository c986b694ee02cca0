/** One reason: the words, and the place that they are about. */
import type { Place } from './place.ts';

export interface Reason {
  readonly text: string;
  readonly place: Place | undefined;
}
