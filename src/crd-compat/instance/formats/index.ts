/**
 * The string formats that the API server of Kubernetes 1.36 validates, with examples of each. It ignores other formats.
 */
import { parseRequestUri, toBytes, UrlProblem } from '../../../cel/internal.ts';
import { isCidr, isIpv4, isIpv6, isMac } from './addresses.ts';
import { isCreditCard, isIsbn10, isIsbn13 } from './checksums.ts';
import { isEmail } from './email.ts';
import { isDate, isDateTime, isDuration } from './times.ts';

interface Format {
  readonly matches: (text: string) => boolean;
  readonly examples: readonly string[];
}

/** Returns the format of a name, ignoring dashes; undefined if the API server does not validate it. */
export function stringFormat(format: string | undefined): Format | undefined {
  return format === undefined ? undefined : FORMATS.get(format.replaceAll('-', ''));
}

const uuid = (version: string, variant: string): RegExp =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i');
const HEX = '[0-9a-f]';

const HOST_CHARACTER = String.raw`[a-zA-Z0-9\p{S}\p{L}]`;
const HOST_LABEL = String.raw`${HOST_CHARACTER}(?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}${HOST_CHARACTER})?`;
const HOST = new RegExp(
  String.raw`^(?:${HOST_CHARACTER}(?:-?${HOST_CHARACTER}{0,62})?|(?:${HOST_LABEL}\.)+[a-zA-Z\p{L}]{2,63})$`,
  'u',
);
const isHostname = (text: string): boolean =>
  Buffer.byteLength(text) <= 255 && HOST.test(text) && text.split('.').every((label) => Buffer.byteLength(label) <= 63);

const NAME_PART = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const SHORT_NAME = new RegExp(`^${NAME_PART}$`);
const LONG_NAME = new RegExp(`^${NAME_PART}(?:\\.${NAME_PART})*$`);
const COLOR_PART = String.raw`[\t\n\f\r ]*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])[\t\n\f\r ]*`;

const by = (pattern: RegExp, ...examples: string[]): Format => ({ matches: (text) => pattern.test(text), examples });

const UUID4 = '123e4567-e89b-42d3-a456-426614174000';

const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['bsonobjectid', by(/^[0-9a-fA-F]{24}$/, '507f1f77bcf86cd799439011')],
  [
    'uri',
    {
      matches: (text) => !(parseRequestUri(toBytes(text)) instanceof UrlProblem),
      examples: ['https://example.com/', 'https://example.com/a?b=c', '/path'],
    },
  ],
  ['email', { matches: isEmail, examples: ['ann@example.com', 'bob@example.org'] }],
  ['hostname', { matches: isHostname, examples: ['example.com', 'host', 'a.example.com'] }],
  ['ipv4', { matches: isIpv4, examples: ['192.0.2.1', '10.0.0.1'] }],
  ['ipv6', { matches: isIpv6, examples: ['2001:db8::1', '::1'] }],
  ['cidr', { matches: isCidr, examples: ['192.0.2.0/24', '2001:db8::/32'] }],
  ['mac', { matches: isMac, examples: ['00:00:5e:00:53:01', '00-00-5e-00-53-02'] }],
  ['uuid', by(uuid(HEX, HEX), UUID4, '00000000-0000-0000-0000-000000000000')],
  ['uuid3', by(uuid('3', HEX), '123e4567-e89b-32d3-a456-426614174000')],
  ['uuid4', by(uuid('4', '[89ab]'), UUID4)],
  ['uuid5', by(uuid('5', '[89ab]'), '123e4567-e89b-52d3-a456-426614174000')],
  ['isbn', { matches: (text) => isIsbn10(text) || isIsbn13(text), examples: ['0321751043', '978-0321751041'] }],
  ['isbn10', { matches: isIsbn10, examples: ['0321751043'] }],
  ['isbn13', { matches: isIsbn13, examples: ['978-0321751041'] }],
  ['creditcard', { matches: isCreditCard, examples: ['4111-1111-1111-1111'] }],
  [
    'ssn',
    { matches: (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text), examples: ['123-45-6789'] },
  ],
  ['hexcolor', by(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/, '#ffffff', '#000')],
  ['rgbcolor', by(new RegExp(String.raw`^rgb\(${COLOR_PART},${COLOR_PART},${COLOR_PART}\)$`), 'rgb(1,2,3)')],
  [
    'byte',
    by(
      /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/,
      'YQ==',
      'YWJj',
      'aGVsbG8gd29ybGQ=',
    ),
  ],
  ['password', { matches: () => true, examples: ['password'] }],
  ['date', { matches: isDate, examples: ['2006-01-02', '2038-01-19'] }],
  ['duration', { matches: isDuration, examples: ['1h', '30s', '1h30m0s'] }],
  ['datetime', { matches: isDateTime, examples: ['2006-01-02T15:04:05Z', '2038-01-19T03:14:07.123Z'] }],
  ['k8sshortname', { matches: (text) => text.length <= 63 && SHORT_NAME.test(text), examples: ['example', 'a'] }],
  [
    'k8slongname',
    {
      matches: (text) => text.length <= 253 && LONG_NAME.test(text),
      examples: ['example', 'example.com', 'a'],
    },
  ],
]);
