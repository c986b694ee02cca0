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
    .option('--rest-port <number>', 'Serve the REST API of operators, clusters and rollouts on this port', port(0))
    .option('--rest-host <address>', 'Listen on this address for the REST API (default: as --host)')
    .option(
      '--rest-tls <directory>',
      'Read tls.crt and tls.key for the REST API from this directory; reloaded when they change (default: as the webhook)',
    )
    .option('--rest-issuer <url>', 'Accept tokens of this OIDC issuer')
    .option('--rest-jwks <file or url>', 'Verify tokens with these keys, if there is no issuer that publishes them')
    .option('--rest-ca <file>', 'Trust these CA certificates (PEM) for the issuer (default: those of the system)')
    .option('--rest-audience <name>', 'Require this audience (`aud`) in tokens', 'kidp')
    .option('--rest-user-claim <name>', 'Read the user name from this claim', 'sub')
    .option(
      '--rest-user-prefix <text>',
      'Prefix each user name; use the prefix that the API server uses for the same issuer',
      prefix,
    )
    .option('--rest-groups-claim <name>', 'Read groups from this claim', 'groups')
    .option(
      '--rest-group <group=role...>',
      'Map a group of the issuer to a role of kidp, such as ops=kidp:admin',
      group,
    );
}

function group(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError(`"${text}": want GROUP=ROLE, such as ops=kidp:admin`);
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** `system:` is reserved, because Kubernetes grants rights to its own users by that prefix. */
function prefix(text: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(text) && !text.startsWith('system:')) return text;
  throw new InvalidArgumentError('want 1 to 128 printable ASCII characters that do not start with system:');
}
