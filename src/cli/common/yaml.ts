/** YAML output. */
import { stringify, type ToStringOptions } from 'yaml';
import { escapeUnsafe } from '../../runtime/internal.ts';

/**
 * `safeYaml` writes a value as YAML. YAML cannot escape characters in plain scalars, so data with control or format characters is
 * written as JSON, which is YAML too.
 */
export function safeYaml(value: unknown, options: ToStringOptions & { aliasDuplicateObjects?: boolean } = {}): string {
  const text = stringify(value, options);
  return escapeUnsafe(text) === text ? text : `${escapeUnsafe(JSON.stringify(value, null, 2))}\n`;
}
