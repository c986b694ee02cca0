import { mkdtemp, rm } from 'node:fs/promises';
import type { OutgoingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { admissionReview, reviewedDatabase } from '../../../test/support/review.ts';
import { emptyWorld, policySet } from '../../policy/index.ts';
import { type Logger, silentLogger } from '../../runtime/index.ts';
import { type Admission, type AdmissionOptions, type AsyncGate, type PolicySource, startAdmission } from '../index.ts';
import { bodyLimitBytes } from '../review/body.ts';
import { timeoutIn } from '../review/deadline.ts';

let admission: Admission;
let agent: Agent;
beforeAll(async () => {
  admission = await startAdmission();
  agent = new Agent({ keepAlive: true, maxSockets: 8 });
});
afterAll(async () => {
  agent.destroy();
  await admission.stop();
});

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: {
    message?: string;
    response?: { uid: string; allowed: boolean; status?: { message: string; details: unknown } };
  };
  text: string;
}

function send(
  path: string,
  body: string | Buffer | undefined,
  over: { method?: string; headers?: OutgoingHttpHeaders } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = 'POST', headers = { 'content-type': 'application/json' } } = over;
    const sent = request(`${admission.url}${path}`, { method, headers, ca: admission.caBundle, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed(text), text }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function parsed(text: string): Answer['body'] {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

const object = (team: string) => reviewedDatabase(team);
const review = (over: object = {}) =>
  admissionReview({ object: object('other-team'), oldObject: object('backend-team'), ...over });

describe('the webhook, alone', () => {
  it('denies with the reason, for people and for programs', async () => {
    const { status, body } = await send('/validate?timeout=5s', JSON.stringify(review()));
    expect(status).toBe(200);
    expect(body.response).toMatchObject({
      uid: review().request.uid,
      allowed: false,
      status: {
        code: 403,
        reason: 'Forbidden',
        details: { causes: [{ reason: 'OwnerImmutable', field: 'spec.owner' }] },
      },
    });
    expect(body.response?.status?.message).toContain('Team backend-team → Team other-team');
  });

  it('admits', async () => {
    const { body } = await send('/validate', JSON.stringify(review({ object: object('backend-team') })));
    expect(body.response).toEqual({ uid: review().request.uid, allowed: true });
  });

  const { uid: _, ...withoutUid } = review().request;
  const rows: {
    reason: string;
    path?: string;
    body?: string;
    method?: string;
    headers?: OutgoingHttpHeaders;
    status: number;
    says?: string;
  }[] = [
    { reason: 'JSON that breaks off', body: '{"kind": "AdmissionReview"', status: 400, says: 'not JSON' },
    { reason: 'nothing', body: '', status: 400 },
    { reason: 'a list', body: '[]', status: 400 },
    { reason: 'another kind', body: '{"kind":"Pod","apiVersion":"v1"}', status: 400 },
    {
      reason: 'v1beta1',
      body: JSON.stringify({ ...review(), apiVersion: 'admission.k8s.io/v1beta1' }),
      status: 400,
      says: 'admissionReviewVersions',
    },
    {
      reason: 'a review without a request',
      body: '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
      status: 400,
    },
    {
      reason: 'a request without a uid',
      body: JSON.stringify({ ...review(), request: withoutUid }),
      status: 400,
      says: 'uid',
    },
    {
      reason: 'an unknown operation',
      body: JSON.stringify(review({ operation: 'PATCH' })),
      status: 400,
      says: 'operation',
    },
    { reason: 'an update without the object', body: JSON.stringify(review({ object: null })), status: 400 },
    { reason: 'an update without the old object', body: JSON.stringify(review({ oldObject: null })), status: 400 },
    { reason: 'a kind without a group', body: JSON.stringify(review({ kind: { kind: 'Database' } })), status: 400 },
    { reason: 'another content type', body: 'a: b', headers: { 'content-type': 'application/yaml' }, status: 415 },
    { reason: 'no content type', body: '{}', headers: {}, status: 415 },
    { reason: 'another method', method: 'GET', status: 405 },
    { reason: 'an unknown path', path: '/nothing', body: '{}', status: 404 },
    { reason: 'a path that is no path', path: '//', body: '{}', status: 404 },
    { reason: 'more than it takes, announced', body: ' '.repeat(bodyLimitBytes + 1), status: 413 },
  ];
  it.each(rows)('answers $status to $reason', async ({
    path = '/validate',
    body,
    method,
    headers,
    status,
    says = '',
  }) => {
    const answer = await send(path, body, {
      ...(method === undefined ? {} : { method }),
      ...(headers === undefined ? {} : { headers }),
    });
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(says);
  });

  it('takes a content type with a character set', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    await expect(send('/mutate', JSON.stringify(review()), { headers })).resolves.toMatchObject({ status: 200 });
  });

  it('takes a review as large as two of the largest objects', async () => {
    const big = { ...object('backend-team'), data: 'x'.repeat(3 * 1024 * 1024) };
    const answer = await send('/validate', JSON.stringify(review({ object: big, oldObject: big })));
    expect(answer.body.response?.allowed).toBe(true);
  });

  it('gives up on a body that does not arrive in time', async () => {
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': 100 };
      const sent = request(
        `${admission.url}/validate?timeout=50ms`,
        { method: 'POST', headers, ca: admission.caBundle },
        (response) => {
          resolve(response.statusCode);
          response.resume();
          sent.destroy();
        },
      );
      sent.on('error', reject);
      sent.write('{');
    });
    expect(answer).toBe(408);
  });

  it('stops reading a body of unknown length that is too long', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      const sent = request(
        `${admission.url}/validate`,
        { method: 'POST', headers, ca: admission.caBundle },
        (response) => {
          resolve(response.statusCode);
          sent.destroy();
        },
      );
      sent.on('error', reject);
      const more = () => {
        while (!sent.destroyed && sent.write(' '.repeat(256 * 1024)));
      };
      sent.on('drain', more);
      more();
    });
    expect(status).toBe(413);
  });

  it('says how it is', async () => {
    await expect(send('/healthz', undefined, { method: 'GET' })).resolves.toMatchObject({ status: 200, text: 'ok' });
    await expect(send('/readyz', undefined, { method: 'GET' })).resolves.toMatchObject({ status: 200, text: 'ok' });
  });

  it('keeps its certificates in a directory over a restart', async () => {
    const certificateDirectory = await mkdtemp(join(tmpdir(), 'kidp-admission-'));
    try {
      const first = await startAdmission({ certificateDirectory });
      await first.stop();
      const second = await startAdmission({ certificateDirectory });
      await second.stop();
      expect(second.caBundle).toBe(first.caBundle);
    } finally {
      await rm(certificateDirectory, { recursive: true });
    }
  });

  it('is not ready any more once it stops, and refuses afterwards', async () => {
    const leaving = await startAdmission();
    await leaving.stop();
    const refused = new Promise((resolve, reject) => {
      request(`${leaving.url}/readyz`, { ca: leaving.caBundle }, resolve).on('error', reject).end();
    });
    await expect(refused).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('the time that an API server waits', () => {
  const rows = [
    { reason: 'what an API server sends', timeout: '5s', milliseconds: 5000 },
    { reason: 'a duration of several parts', timeout: '1s500ms', milliseconds: 1500 },
    { reason: 'a fraction', timeout: '1.5s', milliseconds: 1500 },
    { reason: 'longer than the webhook is registered with', timeout: '5m', milliseconds: 20_000 },
    { reason: 'nothing', timeout: null, milliseconds: 10_000 },
    { reason: 'no duration', timeout: 'soon', milliseconds: 10_000 },
    { reason: 'a negative one', timeout: '-5s', milliseconds: 10_000 },
    { reason: 'no time at all', timeout: '0s', milliseconds: 1 },
  ];
  it.each(rows)('$reason', ({ timeout, milliseconds }) => {
    expect(timeoutIn(timeout === null ? '' : `timeout=${timeout}`, 20_000)).toBe(milliseconds);
  });
});

describe('a webhook in trouble', () => {
  const trouble = async (options: AdmissionOptions, during: (url: string, ca: string) => Promise<void>) => {
    const troubled = await startAdmission(options);
    try {
      await during(troubled.url, troubled.caBundle);
    } finally {
      await troubled.stop();
    }
  };
  const post = (
    url: string,
    ca: string,
    path: string,
    padding = 0,
  ): Promise<{ status: number; retryAfter: unknown; text: string }> =>
    new Promise((resolve, reject) => {
      const isRead = path === '/metrics' || path === '/readyz';
      const sent = request(
        `${url}${path}`,
        {
          method: isRead ? 'GET' : 'POST',
          headers: { 'content-type': 'application/json' },
          ca,
          agent,
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part) => {
            text += part;
          });
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], text }),
          );
        },
      );
      sent.on('error', reject);
      sent.end(isRead ? undefined : JSON.stringify(review()) + ' '.repeat(padding));
    });
  const slowly: AsyncGate = {
    name: 'slow',
    matches: () => true,
    evaluate: (_, deadline) =>
      new Promise((resolve) => {
        setTimeout(() => resolve({ violations: [], warnings: [], patches: [] }), deadline.at - Date.now() + 200);
      }),
  };
  const broken: PolicySource = {
    synced: () => true,
    current: () => {
      throw new Error('a bug of ours');
    },
  };

  it('never answers "allowed" to a bug of its own', () =>
    trouble({ policies: broken }, async (url, ca) => {
      expect(await post(url, ca, '/validate')).toMatchObject({ status: 500 });
      expect((await post(url, ca, '/metrics')).text).toContain('result="error"');
    }));

  it('answers before the API server gives up', () =>
    trouble({ extraGates: [slowly] }, async (url, ca) => {
      expect(await post(url, ca, '/validate?timeout=100ms')).toMatchObject({ status: 504 });
    }));

  it('asks those that are too many to come again', () =>
    trouble({ extraGates: [slowly], mostInFlight: 2 }, async (url, ca) => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => post(url, ca, '/validate?timeout=1s')));
      const tooMany = answers.filter(({ status }) => status === 429);
      expect(tooMany.length).toBeGreaterThanOrEqual(1);
      for (const { retryAfter } of tooMany) expect(retryAfter).toBe('1');
    }));

  it('holds only so many bytes at once, asks the others to come again, and has room once those are answered', () =>
    trouble({ extraGates: [slowly], mostBytes: 4 * 1024 * 1024 }, async (url, ca) => {
      const large = 3 * 1024 * 1024;
      const answers = await Promise.all(Array.from({ length: 4 }, () => post(url, ca, '/validate?timeout=3s', large)));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([429, 429, 429, 504]);
      for (const { status, retryAfter } of answers) if (status === 429) expect(retryAfter).toBe('1');
      expect(await post(url, ca, '/validate?timeout=2s', large)).toMatchObject({ status: 504 });
    }));

  it('takes it for no bug of its own where somebody goes away in the middle of a review', async () => {
    const error = vi.fn();
    const log: Logger = { ...silentLogger, error, with: () => log };
    await trouble({ log }, async (url, ca) => {
      const headers = { 'content-type': 'application/json', 'content-length': 200_000 };
      const sent = request(`${url}/validate`, { method: 'POST', headers, ca });
      sent.on('error', () => {}).write(' '.repeat(100_000));
      const untilInFlight = (count: number) =>
        vi.waitFor(async () => {
          expect((await post(url, ca, '/metrics')).text).toContain(`kidp_admission_requests_in_flight ${count}\n`);
        }, 60_000);
      await untilInFlight(1);
      sent.destroy();
      await untilInFlight(0);
    });
    expect(error).not.toHaveBeenCalled();
  });

  it('is not ready and judges nothing before policies are known, and waits for them as long as it may', async () => {
    let known = false;
    const policies: PolicySource = {
      synced: () => known,
      current: () => ({ set: policySet({ policies: [] }), world: emptyWorld(Date.now()) }),
    };
    await trouble({ policies }, async (url, ca) => {
      expect(await post(url, ca, '/readyz')).toMatchObject({ status: 503 });
      expect(await post(url, ca, '/validate?timeout=100ms')).toMatchObject({ status: 503, retryAfter: '1' });
      const waiting = post(url, ca, '/validate?timeout=30s');
      known = true;
      expect(await waiting).toMatchObject({ status: 200 });
      expect(await post(url, ca, '/readyz')).toMatchObject({ status: 200 });
    });
  });

  it('counts what it does', () =>
    trouble({}, async (url, ca) => {
      await post(url, ca, '/validate');
      const { text } = await post(url, ca, '/metrics');
      expect(text).toContain('kidp_admission_requests_total{phase="validate",result="denied"} 1');
      expect(text).toContain('kidp_admission_request_duration_seconds_bucket');
      expect(text).toContain('kidp_admission_requests_in_flight 0');
    }));
});
