/** The few forms of DER (X.690) that a certificate is written in. Node reads certificates but does not write them. */

export const integer = (bytes: Uint8Array): Buffer => {
  const leading = bytes.findIndex((byte) => byte !== 0);
  const significant = leading === -1 ? Buffer.from([0]) : Buffer.from(bytes.subarray(leading));
  // A first bit that is set would read as a negative number.
  const signed = (significant[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), significant]) : significant;
  return tagged(0x02, signed);
};
export const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]));
/** NULL */
export const nothing: Buffer = Buffer.from([0x05, 0]);
export const octetString = (content: Uint8Array): Buffer => tagged(0x04, content);
export const bitString = (content: Uint8Array, unusedBits = 0): Buffer =>
  tagged(0x03, Buffer.concat([Buffer.from([unusedBits]), content]));
export const utf8String = (text: string): Buffer => tagged(0x0c, Buffer.from(text, 'utf8'));
export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, Buffer.concat(parts));
export const set = (...parts: readonly Uint8Array[]): Buffer => tagged(0x31, Buffer.concat(parts));
/** `[number] EXPLICIT`: wraps what has a tag of its own. */
export const explicit = (number: number, content: Uint8Array): Buffer => tagged(0xa0 | number, content);
/** `[number] IMPLICIT` of a primitive type: its tag is replaced. */
export const implicit = (number: number, content: Uint8Array): Buffer => tagged(0x80 | number, content);

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** UTCTime until 2049 and GeneralizedTime from 2050, as RFC 5280 4.1.2.5 demands; whole seconds, always UTC. */
export function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(`${digits.slice(2)}Z`, 'ascii'))
    : tagged(0x18, Buffer.from(`${digits}Z`, 'ascii'));
}

export const pem = (label: string, content: Uint8Array): string => {
  const lines =
    Buffer.from(content)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
};

function tagged(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

function base128(number: number): number[] {
  const bytes = [number % 128];
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128));
  return bytes;
}
