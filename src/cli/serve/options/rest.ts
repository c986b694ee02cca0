/** Turns the flags of `serve` into the options of the REST API. */
import { readFileSync } from 'node:fs';
import type { RestServing } from '../../../platform/index.ts';
import { roleGroups, type TokenKeys } from '../../../rest/index.ts';
import type { Logger } from '../../../runtime/index.ts';
import { InputError } from '../../common/failure.ts';
import type { RestFlags } from '../flags/rest.ts';
import { certificateFiles } from './certificate-files.ts';

/** `restServing` returns undefined without --rest-port. */
export function restServing(flags: RestFlags, host: string, log: Logger): RestServing | undefined {
  const { restPort, restTls, restIssuer, restCa, insecureHttp = false } = flags;
  if (restPort === undefined) return undefined;
  const caBundle = restCa === undefined ? undefined : textOf(restCa);
  return {
    host: flags.restHost ?? host,
    port: restPort,
    tls: restTls === undefined ? 'webhook' : certificateFiles(restTls, log),
    insecureHttp,
    authentication: {
      keys: keysOf(flags, caBundle),
      issuer: restIssuer,
      audience: flags.restAudience,
      userClaim: flags.restUserClaim,
      userPrefix: flags.restUserPrefix,
      groupsClaim: flags.restGroupsClaim,
      groupNames: groupsOf(flags),
    },
  };
}

function keysOf({ restIssuer, restJwks }: RestFlags, caBundle: string | undefined): TokenKeys {
  if (restJwks !== undefined) return /^https?:\/\//.test(restJwks) ? { uri: restJwks, caBundle } : { file: restJwks };
  if (restIssuer !== undefined) return { issuer: restIssuer, caBundle };
  throw new InputError(
    'rest-keys',
    '--rest-port requires a source of token keys: set --rest-issuer https://ISSUER, or --rest-jwks FILE or URL.',
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError('rest-ca', `cannot read ${file} (${(error as Error).message}).`);
  }
}

function groupsOf({ restGroup = {} }: RestFlags): Readonly<Record<string, string>> {
  for (const [group, role] of Object.entries(restGroup)) {
    if (roleGroups.includes(role)) continue;
    throw new InputError('rest-group', `--rest-group ${group}=${role}: want a role among ${roleGroups.join(', ')}.`);
  }
  return restGroup;
}
