/** Turns the flags of `serve` into the options of rollouts and their REST API. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetError, findHelm, keysFromCommand, keysFromFile } from '../../../fleet/index.ts';
import type { RolloutsOptions } from '../../../platform/index.ts';
import { type MailOptions, readRolloutSettings } from '../../../reconcile/index.ts';
import type { Logger } from '../../../runtime/index.ts';
import { InputError } from '../../common/failure.ts';
import type { RestFlags } from '../flags/rest.ts';
import type { RolloutFlags } from '../flags/rollouts.ts';
import { restServing } from './rest.ts';

/** `rolloutsOptions` returns undefined without keys, and rejects if this machine or image lacks what rollouts need. */
export async function rolloutsOptions(
  flags: RolloutFlags & RestFlags,
  host: string,
  log: Logger,
): Promise<RolloutsOptions | undefined> {
  const options = optionsIn(flags, host, log);
  if (options !== undefined) await requireHelm(options);
  return options;
}

async function requireHelm({ helm }: RolloutsOptions): Promise<void> {
  try {
    await findHelm(helm);
  } catch (error) {
    if (error instanceof FleetError) {
      const next = 'The image of kidp includes it; elsewhere set --helm FILE. To run without rollouts, remove';
      throw new InputError('helm', `rollouts need Helm. ${error.message}. ${next} --cluster-keys.`);
    }
    const next = 'in a Pod, mount an emptyDir volume there.';
    throw new InputError('temporary', `Helm needs a writable ${tmpdir()} (${(error as Error).message}): ${next}`);
  }
}

function optionsIn(flags: RolloutFlags & RestFlags, host: string, log: Logger): RolloutsOptions | undefined {
  const { clusterKeys, clusterKeysCommand, rolloutSettings } = flags;
  if (clusterKeys === undefined && clusterKeysCommand === undefined) {
    if (flags.restPort === undefined) return undefined;
    throw new InputError('cluster-keys', '--rest-port requires --cluster-keys or --cluster-keys-command.');
  }
  if (clusterKeys !== undefined && clusterKeysCommand !== undefined) {
    throw new InputError('cluster-keys', 'set either --cluster-keys or --cluster-keys-command, not both.');
  }
  return {
    keys:
      clusterKeys === undefined
        ? keysFromCommand([clusterKeysCommand ?? ''], { log })
        : keysFromFile(clusterKeys, { log, isAlone: process.env.KUBERNETES_SERVICE_HOST !== undefined }),
    settings:
      rolloutSettings === undefined ? undefined : readRolloutSettings(textOf('--rollout-settings', rolloutSettings)),
    helm: flags.helm === undefined ? undefined : { program: flags.helm },
    charts: flags.charts,
    mail: mailOptions(flags),
    rest: restServing(flags, host, log),
  };
}

function mailOptions({ smtp, smtpFrom, smtpTls, smtpCa, smtpCredentials }: RolloutFlags): MailOptions | undefined {
  if (smtp === undefined) return undefined;
  if (smtpFrom === undefined) throw new InputError('smtp-from', '--smtp requires --smtp-from ADDRESS.');
  return {
    from: smtpFrom,
    smtp: {
      ...smtp,
      implicitTls: smtpTls,
      ca: smtpCa === undefined ? undefined : textOf('--smtp-ca', smtpCa),
      credentials: smtpCredentials === undefined ? undefined : () => credentialsIn(smtpCredentials),
    },
  };
}

async function credentialsIn(directory: string) {
  const [user, password] = await Promise.all(
    ['username', 'password'].map(async (name) => (await readFile(join(directory, name), 'utf8')).trim()),
  );
  return { user: user ?? '', password: password ?? '' };
}

function textOf(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError('file', `cannot read ${flag} ${file} (${(error as Error).message}).`);
  }
}
