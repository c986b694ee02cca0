/** Errors of the control plane and of building its programs: a stable code, one sentence, and the next step. */

type ControlPlaneErrorCode =
  | 'assets/no-go'
  | 'assets/go-too-old'
  | 'assets/no-java'
  | 'assets/java-too-old'
  | 'assets/no-maven'
  | 'assets/no-network'
  | 'assets/disk-full'
  | 'assets/no-permission'
  | 'assets/missing'
  | 'assets/build-failed'
  | 'process/failed'
  | 'process/not-ready'
  | 'port/taken'
  | 'state/in-use'
  | 'state/unusable'
  | 'etcd/command-failed'
  | 'nodes/command-failed'
  | 'nodes/unavailable';

export class ControlPlaneError extends Error {
  readonly code: ControlPlaneErrorCode;
  readonly hint: string;

  constructor(input: { code: ControlPlaneErrorCode; message: string; hint: string; cause?: unknown }) {
    super(`${input.message}. ${input.hint}`, { cause: input.cause });
    this.name = 'ControlPlaneError';
    this.code = input.code;
    this.hint = input.hint;
  }
}
