/** One reason: its text and the path that it refers to. */
import type { Place } from './place.ts';

export interface Reason {
  readonly text: string;
  readonly place: Place | undefined;
}
