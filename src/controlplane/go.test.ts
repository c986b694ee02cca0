import { describe, expect, it } from 'vitest';
import { explain } from './go.ts';

const rows = [
  {
    reason: 'the name of the proxy does not resolve',
    said: 'go: k8s.io/api@v0.36.3: Get "https://proxy.example/k8s.io/api/@v/v0.36.3.mod": dial tcp: lookup proxy.example: no such host',
    code: 'assets/no-network',
    names: 'k8s.io/api',
  },
  {
    reason: 'the proxy is down',
    said: 'go: downloading x v1\nverifying x@v1: reading https://sum.example/lookup: 503 Service Unavailable',
    code: 'assets/no-network',
    names: '503',
  },
  {
    reason: 'GOPROXY=off',
    said: 'go: x@v1: module lookup disabled by GOPROXY=off',
    code: 'assets/no-network',
    names: 'GOPROXY',
  },
  {
    reason: 'the disk fills while linking',
    said: 'k8s.io/api/core/v1: write $WORK/b001/_pkg_.a: no space left on device',
    code: 'assets/disk-full',
    names: 'k8s.io/api/core/v1',
  },
  {
    reason: 'the build cache belongs to another user',
    said: 'failed to initialize build cache at /x: mkdir /x/00: permission denied',
    code: 'assets/no-permission',
    names: '/x',
  },
  {
    reason: 'the program does not compile',
    said: '# x\n./main.go:3:1: syntax error',
    code: 'assets/build-failed',
    names: 'main.go:3:1',
  },
];

describe('explain', () => {
  it.each(rows)('classifies the failure and keeps the output of Go: $reason', ({ said, code, names }) => {
    const error = explain(['build', '-v', '.'], said);
    expect(error).toMatchObject({ code, message: expect.stringContaining(names) });
    expect(error.hint).not.toBe('');
  });
});
