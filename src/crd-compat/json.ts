/** Whether a value is a JSON object, neither null nor an array. */
import type { Json } from './verdict.ts';

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
