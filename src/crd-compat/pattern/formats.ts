/**
 * The string formats that the API server validates, as patterns. Many formats are exactly the language of a pattern.
 * The others have two patterns: all strings of `certain` have the format, and `possible` contains every string with the
 * format; nothing is claimed about the rest. A format that the API server does not know is no constraint.
 */

export interface Format {
  /** A string has the format if it matches all of these and is not longer than `maxLength`. */
  readonly certain: readonly string[];
  /** A string with the format matches all of these and is not longer than `maxLength`. */
  readonly possible: readonly string[];
  readonly maxLength?: number;
  /** The usual notation, which examples use if possible. */
  readonly usual?: string;
}

const exact = (pattern: string, maxLength?: number): Format => ({
  certain: [pattern],
  possible: [pattern],
  ...(maxLength === undefined ? {} : { maxLength }),
});

const between = (certain: string, possible: string): Format => ({ certain: [certain], possible: [possible] });

const usually = (usual: string, format: Format): Format => ({ ...format, usual });

const HEX = '[0-9a-fA-F]';

const uuid = (third: string, fourth: string): Format =>
  usually('^[^-]*(?:-[^-]*){4}$', exact(`^${HEX}{8}-?${HEX}{4}-?${third}-?${fourth}-?${HEX}{12}$`));

const LONG_MONTH = '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])';
const SHORT_MONTH = '(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)';
const FEBRUARY = '02-(?:0[1-9]|1[0-9]|2[0-8])';
const LEAP_YEAR = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DATE = `(?:[0-9]{4}-(?:${LONG_MONTH}|${SHORT_MONTH}|${FEBRUARY})|${LEAP_YEAR}-02-29)`;
const CLOCK = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]';
const ZONE = '(?:[Zz]|[+-][0-9]{2}:[0-9]{2})';

/** A pattern for `count` groups of hexadecimal digits. */
const groups = (digits: number, separator: string, count: number): string =>
  `${HEX}{${digits}}(?:${separator}${HEX}{${digits}}){${count - 1}}`;

const MAC = [6, 8, 20].flatMap((bytes) => [groups(2, ':', bytes), groups(2, '-', bytes), groups(4, '\\.', bytes / 2)]);

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const IPV4 = `${OCTET}(?:\\.${OCTET}){3}`;
const QUARTET = '[0-9a-f]{1,4}';
const IPV6 = `(?:(?:${QUARTET}:){7}${QUARTET}|(?:${QUARTET})?::(?:${QUARTET})?)`;
const ADDRESS = '[0-9a-fA-F:.]*';

const LETTER_OR_DIGIT = 'a-zA-Z0-9\\p{S}\\p{L}';
const ONE_LABEL = `[${LETTER_OR_DIGIT}](?:-?[${LETTER_OR_DIGIT}]{0,62})?`;
const LABELS = `(?:[${LETTER_OR_DIGIT}](?:[${LETTER_OR_DIGIT}-]{0,61}[${LETTER_OR_DIGIT}])?\\.)+[a-zA-Z\\p{L}]{2,63}`;
const HOSTNAME = `^(?:${ONE_LABEL}|${LABELS})$`;

const COLOUR = '\\s*(?:0|[1-9][0-9]?|1[0-9]{1,2}|2[0-4][0-9]|25[0-5])\\s*';
const BASE64 = '[A-Za-z0-9+/]';
const NAME = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
/** Spaces and dashes in an ISBN are ignored. */
const ISBN10 = '^[\\s-]*(?:[0-9][\\s-]*){9}[0-9X][\\s-]*$';
const ISBN13 = '^[\\s-]*(?:[0-9][\\s-]*){13}$';
/** ISBNs with a correct check digit. */
const SOME_ISBN10 = '^0321751043$';
const SOME_ISBN13 = '^978-0321751041$';
const SOME_CARDS = '^(?:4111111111111111|5555555555554444|378282246310005)$';

/** Formats by name without dashes, which the API server ignores too. */
const FORMATS: ReadonlyMap<string, Format> = new Map(
  Object.entries({
    uuid: uuid(`${HEX}{4}`, `${HEX}{4}`),
    uuid3: uuid(`3${HEX}{3}`, `${HEX}{4}`),
    uuid4: uuid(`4${HEX}{3}`, `[89abAB]${HEX}{3}`),
    uuid5: uuid(`5${HEX}{3}`, `[89abAB]${HEX}{3}`),
    bsonobjectid: exact(`^${HEX}{24}$`),
    mac: usually('^[^:]+(?::[^:]+){5}$', exact(`^(?:${MAC.join('|')})$`)),
    ssn: exact('^[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}$'),
    hexcolor: exact(`^#?(?:${HEX}{3}|${HEX}{6})$`),
    rgbcolor: exact(`^rgb\\(${COLOUR},${COLOUR},${COLOUR}\\)$`),
    byte: exact(`^(?:${BASE64}{4})*(?:${BASE64}{2}==|${BASE64}{3}=|${BASE64}{4})$`),
    date: usually('^20', exact(`^${DATE}$`)),
    // The text after a second T is not validated.
    datetime: usually('^20[^T]+T[^T.]+Z$', exact(`^${DATE}[Tt]${CLOCK}(?:[^\\nTt][0-9]+)?${ZONE}(?:[Tt](?s:.*))?$`)),
    k8sshortname: exact(`^${NAME}$`, 63),
    k8slongname: exact(`^${NAME}(?:\\.${NAME})*$`, 253),
    duration: usually('^[1-9]', between('^[0-9]{1,4}(?:ns|us|ms|s|m|h)$', '[0-9]')),
    email: usually('\\.[a-z]{3}$', between('^[a-z0-9]+@[a-z0-9]+(?:\\.[a-z0-9]+)*$', '(?s).@.')),
    uri: usually(
      '^https://[^/]+$',
      between(
        '^(?:https?://[a-z0-9]+(?:\\.[a-z0-9]+)*(?:/[a-z0-9]+)*/?|/[a-z0-9]*)$',
        '^(?:\\*|(?:/|[a-zA-Z][a-zA-Z0-9+.-]*:)[^\\x00-\\x1f\\x7f]*)$',
      ),
    ),
    ipv4: usually('^10\\.', between(`^${IPV4}$`, `^${ADDRESS}\\.${ADDRESS}$`)),
    ipv6: between(`^${IPV6}$`, `^${ADDRESS}:${ADDRESS}$`),
    cidr: usually(
      '^10\\.',
      between(
        `^(?:${IPV4}/(?:[0-9]|[12][0-9]|3[0-2])|${IPV6}/(?:[0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))$`,
        '^[0-9a-fA-F:.]+/[0-9]+$',
      ),
    ),
    isbn: between(`${SOME_ISBN10}|${SOME_ISBN13}`, `${ISBN10}|${ISBN13}`),
    isbn10: between(SOME_ISBN10, ISBN10),
    isbn13: between(SOME_ISBN13, ISBN13),
    creditcard: between(SOME_CARDS, '^[^0-9]*(?:[0-9][^0-9]*){13,16}$'),
    // The length of a label is limited in bytes, which equals characters only for ASCII.
    hostname: {
      certain: [HOSTNAME, '^[\\x00-\\x2d\\x2f-\\x7f]{0,63}(?:\\.[\\x00-\\x2d\\x2f-\\x7f]{0,63})*$'],
      possible: [HOSTNAME, '^[^.]{0,63}(?:\\.[^.]{0,63})*$'],
      maxLength: 255,
    },
  } satisfies Record<string, Format>),
);

/**
 * Returns undefined for a format that is no constraint: `password`, and every format that the API server does not know.
 */
export const formatOf = (name: string): Format | undefined => FORMATS.get(name.replaceAll('-', ''));
