/** What all of this room takes for an object of JSON. */
import type { Json } from './verdict.ts';

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
