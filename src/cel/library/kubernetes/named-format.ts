/** The named formats of Kubernetes: `format.dns1123Label().validate(name)` is an empty optional or a list of errors. */
import { sizeOf } from '../../cost/size.ts';
import { fn, type Library, member, overload, type RuntimeCost } from '../../declarations.ts';
import { list, object, optional, STRING } from '../../types.ts';
import { type CelError, noSuchOverload, Optional, TypeValue, type Value } from '../../values.ts';
import { estimate, nominal, scale, sizeOfNode } from '../estimate.ts';
import { ComparedValue } from '../opaque.ts';
import {
  asPrefix,
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from './name-rules.ts';
import { matchCost } from './regex.ts';
import { requestUriProblem } from './urls.ts';

const NAME = 'kubernetes.NamedFormat';
const RUNTIME_TYPE = new TypeValue(NAME);

const NAMED_FORMAT = object(NAME);

export class NamedFormat extends ComparedValue {
  override readonly type = RUNTIME_TYPE;
  readonly name: string;
  /** The assumed size of the pattern in cost estimates. */
  readonly patternSize: number;
  readonly problems: (text: string) => readonly string[];

  constructor(name: string, patternSize: number, problems: (text: string) => readonly string[]) {
    super();
    this.name = name;
    this.patternSize = patternSize;
    this.problems = problems;
  }

  override equalsOrError(other: Value): boolean | CelError {
    return other instanceof NamedFormat ? this.name === other.name : noSuchOverload();
  }

  override toString(): string {
    return `format.${this.name}`;
  }
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const UUID_PATTERN_SIZE = 70;
const TIME = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/u;
const TIME_PATTERN_SIZE = 71;

const unless = (valid: (text: string) => boolean, problem: string) => (text: string) => (valid(text) ? [] : [problem]);

const FORMATS: ReadonlyMap<string, NamedFormat> = new Map(
  [
    new NamedFormat('dns1123Label', 30, dns1123LabelProblems),
    new NamedFormat('dns1123Subdomain', 60, (text) => dns1123SubdomainProblems(text)),
    new NamedFormat('dns1035Label', 30, dns1035LabelProblems),
    new NamedFormat('qualifiedName', 60, qualifiedNameProblems),
    new NamedFormat('dns1123LabelPrefix', 30, (text) => dns1123LabelProblems(asPrefix(text))),
    new NamedFormat('dns1123SubdomainPrefix', 60, (text) => dns1123SubdomainProblems(asPrefix(text))),
    new NamedFormat('dns1035LabelPrefix', 30, (text) => dns1035LabelProblems(asPrefix(text))),
    new NamedFormat('labelValue', 40, labelValueProblems),
    new NamedFormat('uri', 1103, (text) => {
      const problem = requestUriProblem(text);
      return problem === undefined ? [] : [problem];
    }),
    new NamedFormat(
      'uuid',
      UUID_PATTERN_SIZE,
      unless((text) => UUID.test(text), 'does not match the UUID format'),
    ),
    new NamedFormat('byte', 84, unless(isBase64, 'invalid base64')),
    new NamedFormat('date', TIME_PATTERN_SIZE, unless(isDate, 'invalid date')),
    new NamedFormat('datetime', TIME_PATTERN_SIZE, unless(isDateTime, 'invalid datetime')),
  ].map((format) => [format.name, format]),
);

const validateCost: RuntimeCost = ([format, text]) =>
  format instanceof NamedFormat ? matchCost(sizeOf(text ?? null), format.patternSize) : 1;

export const namedFormats: Library = {
  name: 'kubernetes.format',
  types: [NAMED_FORMAT],
  functions: [
    fn('format.named', [
      overload(
        'format-named',
        [STRING],
        optional(NAMED_FORMAT),
        (name: string) => {
          const format = FORMATS.get(name);
          return format === undefined ? Optional.none : new Optional(format);
        },
        { estimate: nominal },
      ),
    ]),
    fn('validate', [
      member(
        'format-validate',
        [NAMED_FORMAT, STRING],
        optional(list(STRING)),
        (format: NamedFormat, text: string) => {
          const problems = format.problems(text);
          return problems.length === 0 ? Optional.none : new Optional(problems);
        },
        {
          cost: validateCost,
          estimate: (_target, [text]) => estimate(scale(scale(sizeOfNode(text), 0.1), 128 * 0.25)),
        },
      ),
    ]),
    ...[...FORMATS].map(([name, format]) =>
      fn(`format.${name}`, [overload(`format.${name}`, [], NAMED_FORMAT, () => format)]),
    ),
  ],
};

/** Reports whether the text is non-empty, padded base64 of the standard alphabet: govalidator's rule. */
function isBase64(text: string): boolean {
  return text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string): boolean {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
  return day >= 1 && day <= days;
}

/** Reports whether the text is a date, a T and a time; text after a second T is ignored, as in Kubernetes. */
function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t');
  if (time === undefined || !isDate(date)) return false;
  const match = TIME.exec(time);
  if (match === null) return false;
  const [, hours = '', minutes = '', seconds = ''] = match;
  return hours <= '23' && minutes <= '59' && seconds <= '59';
}
