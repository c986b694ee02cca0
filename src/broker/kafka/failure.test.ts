import { MultipleErrors, NetworkError, ProtocolError, TimeoutError, UserError } from '@platformatic/kafka';
import { describe, expect, it } from 'vitest';
import { describeFailure, failureOf, isMessageError } from './failure.ts';

const refusedConnection = new NetworkError('Connection to 127.0.0.1:9092 failed.', {
  cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9092'), { code: 'ECONNREFUSED' }),
});

const rows = [
  {
    reason: 'nobody listens at any address',
    error: new MultipleErrors('Cannot connect to any broker.', [refusedConnection, refusedConnection]),
    failure: 'unavailable',
    says: 'connect ECONNREFUSED 127.0.0.1:9092',
  },
  {
    reason: 'the connection broke, and the next could not be made',
    error: new MultipleErrors('produce failed 2 times.', [new NetworkError('Connection closed'), refusedConnection]),
    failure: 'unavailable',
    says: 'Connection closed; connect ECONNREFUSED 127.0.0.1:9092',
  },
  {
    reason: 'the server does not answer a request',
    error: new MultipleErrors('produce failed 2 times.', [new TimeoutError('Request timed out')]),
    failure: 'timeout',
    says: 'Request timed out',
  },
  {
    reason: 'it was too slow at first and is gone now',
    error: new MultipleErrors('produce failed 2 times.', [new TimeoutError('Request timed out'), refusedConnection]),
    failure: 'unavailable',
    says: 'Request timed out; connect ECONNREFUSED 127.0.0.1:9092',
  },
  {
    reason: 'one message is too large',
    error: new MultipleErrors('Producing messages failed.', [new ProtocolError('MESSAGE_TOO_LARGE')]),
    failure: 'refused',
    one: true,
    says: expect.stringContaining('(MESSAGE_TOO_LARGE)'),
  },
  {
    reason: 'the topic does not exist',
    error: new UserError('Unknown topic nowhere.'),
    failure: 'refused',
    says: 'Unknown topic nowhere.',
  },
  {
    reason: 'this client is not authorized for the topic',
    error: new ProtocolError('TOPIC_AUTHORIZATION_FAILED'),
    failure: 'refused',
    says: expect.stringContaining('(TOPIC_AUTHORIZATION_FAILED)'),
  },
  {
    reason: 'a quota is used up',
    error: new ProtocolError('THROTTLING_QUOTA_EXCEEDED'),
    failure: 'throttled',
    says: expect.stringContaining('(THROTTLING_QUOTA_EXCEEDED)'),
  },
  { reason: 'any other error', error: 'a text', failure: 'unavailable', says: 'a text' },
] as const;

describe('failureOf', () => {
  it.each(rows)('$failure where $reason', ({ error, failure, says, ...row }) => {
    expect(failureOf(error)).toBe(failure);
    expect(describeFailure(error)).toEqual(says);
    expect(isMessageError(error)).toBe('one' in row);
  });
});
