/** Parsers of flag values that several commands share. */
import { InvalidArgumentError } from 'commander';

/** `port` returns a parser of port numbers; a lowest of 0 admits "any free port". */
export const port =
  (lowest: 0 | 1) =>
  (text: string): number => {
    const number = Number(text);
    if (Number.isInteger(number) && number >= lowest && number <= 65_535) return number;
    throw new InvalidArgumentError(
      lowest === 0 ? 'want a port from 0 (any free one) to 65535' : 'want a port from 1 to 65535',
    );
  };

/** `repeated` collects the values of a flag that may be given several times. */
export const repeated = (value: string, earlier: string[] = []): string[] => [...earlier, value];

/** `namespaceNames` collects the names of namespaces from a flag that may be repeated. */
export const namespaceNames = collected(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'want the name of a namespace');

/** `namespacePatterns` collects names and prefixes of namespaces. */
export const namespacePatterns = collected(
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$|^[a-z0-9][-a-z0-9]*\*$/,
  'want the name of a namespace, or a prefix followed by *',
);

function collected(pattern: RegExp, wanted: string) {
  return (text: string, before: readonly string[] = []): string[] => {
    if (!pattern.test(text)) throw new InvalidArgumentError(`"${text}": ${wanted}`);
    return [...before, text];
  };
}
