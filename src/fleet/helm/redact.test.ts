import { expect, test } from 'vitest';
import { redactSecrets } from './redact.ts';

const known = {
  words: new Set(['shop', 'Service', 'v1', 'replicas']),
  texts: ['{{ required "say which" .Values.which }}'],
  secrets: ['hunter2', 'aHVudGVyMg==', 'me', 'two  words\n', 'BEGIN KEY\nline of it\nend'],
};

test.each([
  {
    reason: 'names stay',
    said: 'Service "shop" is invalid',
    expected: 'Service "shop" is invalid',
  },
  {
    reason: 'a value that is quoted goes',
    said: 'strconv.Atoi: parsing "s3cret": invalid syntax',
    expected: 'strconv.Atoi: parsing "…": invalid syntax',
  },
  {
    reason: 'a quote within a quote ends nothing',
    said: 'parsing "a\\"b c": bad',
    expected: 'parsing "…": bad',
  },
  {
    reason: 'a value that the API server refuses',
    said: 'spec.clusterIP: Invalid value: "10 10": must be an address',
    expected: 'spec.clusterIP: Invalid value: …: must be an address',
  },
  {
    reason: 'a value with a colon in it',
    said: 'data: Invalid value: "user: s3cret pass": must be shorter: at most 3',
    expected: 'data: Invalid value: …: must be shorter: at most 3',
  },
  {
    reason: 'a value with a quote and a colon in it',
    said: 'data: Invalid value: "a\\": s3cret": must be shorter',
    expected: 'data: Invalid value: …: must be shorter',
  },
  {
    reason: 'an object that it refuses',
    said: 'spec: Invalid value: {"a":"b"}: no',
    expected: 'spec: Invalid value: …: no',
  },
  { reason: 'a secret without quotes', said: 'cannot use hunter2 here', expected: 'cannot use … here' },
  { reason: 'a secret in base64', said: 'data aHVudGVyMg== is bad', expected: 'data … is bad' },
  { reason: 'a secret with more white space', said: 'not two\twords here', expected: 'not … here' },
  { reason: 'a secret of many lines', said: 'bad BEGIN KEY\n  line of it\n  end.', expected: 'bad ….' },
  { reason: 'one of its lines', said: 'cannot read: line of it (2)', expected: 'cannot read: … (2)' },
  { reason: 'a very short one is in every word', said: 'some message', expected: 'some message' },
  { reason: 'what the author of the chart wrote', said: 'error: "say which"', expected: 'error: "say which"' },
  {
    reason: 'who has refused',
    said: 'admission webhook "policies.example.com" denied the request: no',
    expected: 'admission webhook "policies.example.com" denied the request: no',
  },
  { reason: 'an apostrophe quotes nothing', said: "doesn't and can't", expected: "doesn't and can't" },
  { reason: 'a path of keys', said: "at '/replicas': got string", expected: "at '/replicas': got string" },
  { reason: 'single quotes', said: "'s3cret' does not match pattern", expected: "'…' does not match pattern" },
  {
    reason: 'how a field of another type is shown',
    said: 'expected string, got &value.valueUnstructured{Value:12345}',
    expected: 'expected string, got &value.valueUnstructured{Value:…}',
  },
  { reason: 'one line', said: 'a\n  b', expected: 'a b' },
  { reason: 'not without end', said: 'a'.repeat(2000), expected: `${'a'.repeat(1024)}…` },
])('$reason', ({ said, expected }) => expect(redactSecrets(said, known)).toBe(expected));
