/** The flags of `serve` for the REST API: docs/rest-api.md. */
import { type Command, InvalidArgumentError } from 'commander';
import { port } from '../../common/flags.ts';

export interface RestFlags {
  restHost?: string;
  restPort?: number;
  restTls?: string;
  restIssuer?: string;
  restJwks?: string;
  restCa?: string;
  restAudience: string;
  restUserClaim: string;
  restUserPrefix?: string;
  restGroupsClaim: string;
  restGroup?: Readonly<Record<string, string>>;
  insecureHttp?: boolean;
}

export function declareRest(command: Command): Command {
  return command
    .option('--rest-port <number>', 'serve the REST API of operators, clusters and rollouts on this port', port(0))
    .option('--rest-host <address>', 'address that it listens on (default: as --host)')
    .option(
      '--rest-tls <directory>',
      'tls.crt and tls.key for it, read anew when they change (default: as the webhook)',
    )
    .option('--rest-issuer <url>', 'the OIDC issuer of the tokens that it takes')
    .option('--rest-jwks <file or url>', 'the keys of tokens, where the issuer does not publish them or there is none')
    .option('--rest-ca <file>', 'whom to trust at the issuer, in PEM form (default: whom the system trusts)')
    .option('--rest-audience <name>', 'what tokens must be for (`aud`)', 'kidp')
    .option('--rest-user-claim <name>', 'the claim of a token that names the user', 'sub')
    .option(
      '--rest-user-prefix <text>',
      'before the name of each user: that of the API server for the same issuer',
      prefix,
    )
    .option('--rest-groups-claim <name>', 'the claim of a token that lists groups', 'groups')
    .option('--rest-group <group=role...>', 'from a group of the issuer to one of kidp, such as ops=kidp:admin', group);
}

function group(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError(`"${text}" is no GROUP=ROLE, such as ops=kidp:admin`);
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Kubernetes gives the names of its own users rights. */
function prefix(text: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(text) && !text.startsWith('system:')) return text;
  throw new InvalidArgumentError('a prefix has 1 to 128 printable ASCII characters, and is not system:…');
}
