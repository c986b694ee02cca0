import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventOf, truncated } from './event-object.ts';

const reporter = { reportingController: 'kidp/test', reportingInstance: 'test-1' };
const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

function event(metadata: { name: string; namespace?: string }, kind = 'Database') {
  const regarding = { apiVersion: 'platform.company.com/v1', kind, metadata: { ...metadata, resourceVersion: '7' } };
  return eventOf({ regarding, type: 'Normal', reason: 'Ready', action: 'Dispatch', note: 'is there' }, reporter, at);
}

describe('eventOf', () => {
  const names = [
    { reason: 'a name is kept', name: 'orders', begins: 'orders.' },
    { reason: 'dots are fine', name: 'orders.backend', begins: 'orders.backend.' },
    { reason: 'a colon is not allowed in a name', name: 'system:node', begins: 'database.' },
    { reason: 'two dots in a row are not allowed', name: 'a..b', begins: 'database.' },
    { reason: 'there is room for 253 characters only', name: 'x'.repeat(250), begins: 'database.' },
  ];
  for (const { reason, name, begins } of names) {
    it(`names it after the object: ${reason}`, () => {
      const { metadata } = event({ name });
      expect(metadata.name.startsWith(begins)).toBe(true);
      expect(metadata.name.length).toBeLessThanOrEqual(253);
      expect(metadata.name).not.toBe(event({ name }).metadata.name);
    });
  }

  it('puts it into the object’s namespace, and into default where the object has none', () => {
    expect(event({ name: 'a', namespace: 'team' }).metadata.namespace).toBe('team');
    expect(event({ name: 'a' }, 'Team').metadata.namespace).toBe('default');
  });

  it('stores no control characters: admission sees names before they are validated', () => {
    const regarding = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a\nb', namespace: 'team' } };
    const note = 'CREATE by eve\nroot\u001b[2J\u202e denied';
    const made = eventOf({ regarding, type: 'Warning', reason: 'A\n', action: 'B\u0007', note }, reporter, at);
    expect(made).toMatchObject({
      reason: 'A',
      action: 'B',
      note: 'CREATE by eve root [2J  denied',
      regarding: { name: 'a b' },
    });
    expect(made.metadata.name.startsWith('pod.')).toBe(true);
  });

  it('has the time in microseconds and no resourceVersion', () => {
    const { eventTime, regarding } = event({ name: 'a' });
    expect(eventTime).toBe('2026-01-02T03:04:05.678000Z');
    expect(regarding).toEqual({ apiVersion: 'platform.company.com/v1', kind: 'Database', name: 'a' });
  });
});

describe('truncated', () => {
  it('never is longer than asked, never splits a character, and keeps what fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 3, max: 80 }), (text, bytes) => {
        const short = truncated(text, bytes);
        expect(Buffer.byteLength(short)).toBeLessThanOrEqual(bytes);
        expect(short).not.toContain('\uFFFD');
        if (Buffer.byteLength(text) <= bytes) expect(short).toBe(text);
        else expect(text.startsWith(short.slice(0, -1)) && short.endsWith('…')).toBe(true);
      }),
    );
  });
});
