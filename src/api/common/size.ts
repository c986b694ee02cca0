import { text } from '../schema/index.ts';

/** One knob for how big something is. */
export function size(description: string) {
  return text(description, {
    maxLength: 32,
    pattern: '^(small|medium|large|xlarge|[1-9][0-9]*(Mi|Gi|Ti))$',
  });
}
