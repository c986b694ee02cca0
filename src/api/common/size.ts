import { text } from '../schema/index.ts';

/** `size` is a size class of the platform or an exact amount. */
export function size(description: string) {
  return text(description, {
    maxLength: 32,
    pattern: '^(small|medium|large|xlarge|[1-9][0-9]*(Mi|Gi|Ti))$',
  });
}
