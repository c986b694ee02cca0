import { describe, expect, it } from 'vitest';
import { ControlPlaneError } from './errors.ts';
import { explainFileFailure } from './once.ts';

const rows = [
  { reason: 'the disk is full', code: 'ENOSPC', becomes: 'assets/disk-full' },
  { reason: 'the quota is used up', code: 'EDQUOT', becomes: 'assets/disk-full' },
  { reason: 'another user owns the cache', code: 'EACCES', becomes: 'assets/no-permission' },
  { reason: 'the system forbids it', code: 'EPERM', becomes: 'assets/no-permission' },
  { reason: 'the disk is mounted read-only', code: 'EROFS', becomes: 'assets/no-permission' },
  { reason: 'a file is where the cache should be', code: 'ENOTDIR', becomes: 'assets/no-permission' },
];

describe('explainFileFailure', () => {
  it.each(rows)('says what to do when $reason', ({ code, becomes }) => {
    const error = Object.assign(new Error(code), { code, path: '/caches/kidp/assets' });
    const explained = explainFileFailure(error, '/caches/kidp/assets');
    expect(explained).toBeInstanceOf(ControlPlaneError);
    expect(explained).toMatchObject({
      code: becomes,
      cause: error,
      message: expect.stringContaining('/caches/kidp'),
    });
  });

  it('leaves a failure that it does not know as it is', () => {
    const error = new TypeError('a bug of ours');
    expect(explainFileFailure(error, '/cache')).toBe(error);
    const explained = new ControlPlaneError({ code: 'assets/no-go', message: 'x', hint: 'y' });
    expect(explainFileFailure(explained, '/cache')).toBe(explained);
  });
});
