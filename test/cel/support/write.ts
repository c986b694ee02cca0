/** Writes calls: operators in infix form, everything else by name. */

const binary: Readonly<Record<string, string>> = {
  '_+_': '+',
  '_-_': '-',
  '_*_': '*',
  '_/_': '/',
  '_%_': '%',
  '_==_': '==',
  '_!=_': '!=',
  '_<_': '<',
  '_<=_': '<=',
  '_>_': '>',
  '_>=_': '>=',
  '_&&_': '&&',
  '_||_': '||',
  '@in': 'in',
};

export function write(name: string, member: boolean, parts: readonly string[]): string {
  const [first = '', second = '', third = ''] = parts;
  const operator = binary[name];
  if (operator !== undefined) return `(${first} ${operator} ${second})`;
  switch (name) {
    case '!_':
      return `!${closed(first)}`;
    case '-_':
      return `-(${first})`;
    case '_?_:_':
      return `(${first} ? ${second} : ${third})`;
    case '_[_]':
      return `${closed(first)}[${second}]`;
    case '_[?_]':
      return `${closed(first)}[?${second}]`;
    case '_?._':
      return `${closed(first)}.?a`;
    default:
      if (member) return `${closed(first)}.${name}(${parts.slice(1).join(', ')})`;
      return `${name}(${parts.join(', ')})`;
  }
}

/** Adds parentheses if a member cannot follow directly, such as after a sign or a number. */
function closed(part: string): string {
  return /^[-\d.]/.test(part) ? `(${part})` : part;
}
