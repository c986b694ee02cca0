/** A control plane with the reconcilers and the webhook of the platform, both with the identity of its service account. */
import {
  type Admission,
  type AdmissionOptions,
  type LivePolicySource,
  startAdmission,
  startPolicySource,
} from '../../../src/admission/index.ts';
import type { Client } from '../../../src/runtime/index.ts';
import { platformNamespace } from '../../admission/support/platform.ts';
import { type RunningPlatform, startReconciledPlatform } from '../../platform/support/setup.ts';

export interface GuardedPlatform extends Omit<RunningPlatform, 'webhook'> {
  readonly admission: Admission;
  /** A client of a user with the groups of any user. */
  as(user: string): Client;
}

/** `options` are further options of the webhook. */
export async function startGuardedPlatform(options: AdmissionOptions = {}): Promise<GuardedPlatform> {
  const platform = await startReconciledPlatform();
  const { client } = platform;
  const source: LivePolicySource = startPolicySource({
    client,
    platformNamespace,
    exceptionNamespaces: ['policy-exceptions'],
  });
  const admission = await startAdmission({
    client,
    policies: source,
    owners: source.owners,
    mapping: () => source.mapping,
    platformNamespace,
    reconcilers: [`system:serviceaccount:${platformNamespace}:kidp`],
    ...platform.webhook(),
    ...options,
  });
  return {
    ...platform,
    admission,
    as: (user) => client.impersonate({ user, groups: ['system:authenticated'] }),
    async stop() {
      await admission.stop();
      await source.stop();
      await platform.stop();
    },
  };
}
