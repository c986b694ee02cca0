/** Pairs of patterns in RE2 syntax with the right answer: does `wide` match every text that `narrow` matches? */
interface Inclusion {
  readonly reason: string;
  readonly wide: string;
  readonly narrow: string;
  readonly answer: 'yes' | 'no' | 'unknown';
}

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SHORT_LABEL = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';

export const inclusions: readonly Inclusion[] = [
  { reason: 'a class with fewer letters', wide: '^[a-z]+$', narrow: '^[a-y]+$', answer: 'yes' },
  { reason: 'a class with more letters', wide: '^[a-y]+$', narrow: '^[a-z]+$', answer: 'no' },
  { reason: 'without anchors a pattern is searched for', wide: 'b', narrow: '^abc$', answer: 'yes' },
  { reason: 'an anchor is taken off', wide: '^a', narrow: '^a$', answer: 'yes' },
  { reason: 'an anchor is put on', wide: '^a$', narrow: '^a', answer: 'no' },
  { reason: 'one spelling and another', wide: '^(a|b)$', narrow: '\\A[ab]\\z', answer: 'yes' },
  { reason: 'labels of any length hold the short ones', wide: `^${LABEL}$`, narrow: `^${SHORT_LABEL}$`, answer: 'yes' },
  { reason: 'short labels do not hold the long ones', wide: `^${SHORT_LABEL}$`, narrow: `^${LABEL}$`, answer: 'no' },
  {
    reason: 'more than one label',
    wide: `^${LABEL}(\\.${LABEL})*$`,
    narrow: `^${SHORT_LABEL}(\\.${SHORT_LABEL})*$`,
    answer: 'yes',
  },
  { reason: 'case does not matter to the wide one', wide: '(?i)^kelvin$', narrow: '^[kK]elvin$', answer: 'yes' },
  { reason: 'the sign of Kelvin is a k where case does not matter', wide: '^[kK]$', narrow: '(?i)^k$', answer: 'no' },
  { reason: 'a dot is no newline', wide: '^.*$', narrow: '(?s)^.*$', answer: 'no' },
  { reason: 'a dot with (?s) is any character', wide: '(?s)^.*$', narrow: '^.*$', answer: 'yes' },
  { reason: 'everything', wide: '', narrow: 'x', answer: 'yes' },
  { reason: 'nothing is in everything', wide: 'x', narrow: '[^\\x00-\\x{10ffff}]', answer: 'yes' },
  { reason: 'lines are longer than text', wide: '(?m)^a$', narrow: '^a$', answer: 'yes' },
  { reason: 'text is one of many lines', wide: '^a$', narrow: '(?m)^a$', answer: 'no' },
  { reason: 'a word boundary at the edges', wide: '\\bfoo\\b', narrow: '^(foo|a foo)$', answer: 'yes' },
  { reason: 'no word boundary inside a word', wide: '\\bfoo\\b', narrow: 'foo', answer: 'no' },
  { reason: 'repeated anchors end', wide: '(?:^)*a', narrow: '(?:^|$)*a', answer: 'yes' },
  { reason: 'classes of Unicode', wide: '^\\p{L}$', narrow: '^[\\p{Greek}&&[a-z]]$|^\\p{Lu}$', answer: 'no' },
  { reason: 'a class of Unicode in a larger one', wide: '^\\p{L}+$', narrow: '^\\p{Lu}\\p{Ll}*$', answer: 'yes' },
  { reason: 'counted the other way', wide: '^a{2,9}$', narrow: '^(aa){1,4}$', answer: 'yes' },
  { reason: 'the same pattern, however large', wide: 'a.{40}b.{40}', narrow: 'a.{40}b.{40}', answer: 'yes' },
  { reason: 'too large to compare, but not to try', wide: 'a.{40}c', narrow: 'a.{40}b.{40}c', answer: 'no' },
  { reason: 'together too large', wide: '^(.*c.{12}|b)$', narrow: '^(.*a.{12}|b)$', answer: 'no' },
  { reason: 'each too large', wide: '^(a|b)*b(a|b){18}$', narrow: '^(a|b)*a(a|b){18}$', answer: 'no' },
  { reason: 'too large to be proved', wide: '^[ab]*a[ab]{18}$', narrow: '^(a|b)*a(a|b){18}$', answer: 'unknown' },
  { reason: 'no pattern', wide: '(', narrow: 'a', answer: 'unknown' },
];
