import { expect, test } from 'vitest';
import { coversHost, hostsOverlap } from './hosts.ts';

test.each([
  { pattern: 'a.example.com', host: 'a.example.com', covers: true, overlap: true, reason: 'the same name' },
  { pattern: 'a.example.com', host: 'b.example.com', covers: false, overlap: false, reason: 'another name' },
  { pattern: 'example.com', host: 'a.example.com', covers: false, overlap: false, reason: 'a name below a name' },
  { pattern: '*.example.com', host: 'a.example.com', covers: true, overlap: true, reason: 'below the domain' },
  { pattern: '*.example.com', host: 'a.b.example.com', covers: true, overlap: true, reason: 'two levels below' },
  { pattern: '*.example.com', host: 'example.com', covers: false, overlap: false, reason: 'the domain itself' },
  { pattern: '*.example.com', host: 'notexample.com', covers: false, overlap: false, reason: 'the same ending' },
  { pattern: '*.example.com', host: '*.example.com', covers: true, overlap: true, reason: 'the same wildcard' },
  { pattern: '*.example.com', host: '*.a.example.com', covers: true, overlap: true, reason: 'a narrower wildcard' },
  { pattern: '*.a.example.com', host: '*.example.com', covers: false, overlap: true, reason: 'a wider wildcard' },
  { pattern: 'a.example.com', host: '*.example.com', covers: false, overlap: true, reason: 'a wildcard over a name' },
])('$pattern and $host: $reason', ({ pattern, host, covers, overlap }) => {
  expect(coversHost(pattern, host)).toBe(covers);
  expect(hostsOverlap(pattern, host)).toBe(overlap);
  expect(hostsOverlap(host, pattern)).toBe(overlap);
});
