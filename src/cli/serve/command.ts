/** The flags and the help of `kidp serve`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { FailurePolicies } from '../../admission/index.ts';
import type { ReportApi } from '../../reconcile/index.ts';
import { type AllowedAddressFlags, declareAllowedAddresses } from '../common/allowed-addresses.ts';
import { type CrdGateFlags, declareCrdGate } from '../common/crd-gate-flags.ts';
import { namespaceNames, port } from '../common/flags.ts';
import type { LogLevel } from '../common/log.ts';
import { type DispatchFlags, declareDispatch } from './flags/dispatch.ts';
import { declareRest, type RestFlags } from './flags/rest.ts';
import { declareRollouts, type RolloutFlags } from './flags/rollouts.ts';
import { declareTelemetry, type TelemetryFlags } from './flags/telemetry.ts';
import type { ClientFlags } from './options/client-ca.ts';

export interface ServeFlags
  extends AllowedAddressFlags,
    ClientFlags,
    CrdGateFlags,
    DispatchFlags,
    RolloutFlags,
    RestFlags,
    TelemetryFlags {
  kubeconfig?: string;
  namespace?: string;
  service?: string;
  url?: string;
  host?: string;
  port: number;
  reusePort?: boolean;
  webhookTls?: string;
  failurePolicy: 'Fail' | 'Ignore';
  failurePolicyFor?: FailurePolicies;
  crdGateOnly?: boolean;
  excludeNamespace?: string[];
  ownerClusterRole?: string;
  breakGlassGroup?: string;
  drainSeconds: number;
  exceptionNamespace?: string[];
  reportApi: ReportApi;
  logLevel: LogLevel;
}

/** Declares `kidp serve`; `done` gets the exit code. */
export function declareServe(command: Command, done: (code: number) => void): void {
  declareAllowedAddresses(declareTelemetry(declareRest(declareRollouts(declareDispatch(declareCrdGate(command))))))
    .description('Run one replica of kidp in a cluster, the way the Helm chart does')
    .option('--kubeconfig <file>', "Use this cluster (default: $KUBECONFIG, or the pod's service account)")
    .option('--namespace <name>', 'Set the namespace of the platform itself (default: $POD_NAMESPACE, or kidp-system)')
    .option('--service <name>', 'Name the Service in that namespace through which the API server reaches the replicas')
    .option('--url <url>', 'Set the https://HOST:PORT at which the API server reaches it, outside the cluster')
    .option('--host <address>', 'Listen on this address (default: all)')
    .option('--port <number>', 'Listen on this port', port(1), 8443)
    .option(
      '--client-ca <file>',
      'Answer reviews only to a client certificate of these CAs (PEM), such as the API server has; reloaded when it changes',
    )
    .option('--client-name <name...>', 'Accept only these common names of client certificates (default: all)')
    .option(
      '--webhook-tls <directory>',
      'Read tls.crt, tls.key and ca.crt of the webhook from this directory; reloaded when they change (default: an own CA)',
    )
    .option('--reuse-port', 'Allow several replicas on one machine to listen on the same port')
    .addOption(
      new Option('--failure-policy <policy>', 'Set what the API server does with requests while no replica answers')
        .choices(['Fail', 'Ignore'])
        .default('Fail'),
    )
    .option(
      '--failure-policy-for <webhook=policy...>',
      `Set another failure policy for single webhooks: ${webhookGroups.join(', ')}`,
      failurePolicyFor,
    )
    .option('--crd-gate-only', 'Run the CRD gate and nothing else: no Policies, no Teams, no deployments')
    .option(
      '--exclude-namespace <name...>',
      'Exempt these namespaces from Policies, like kube-system and that of the platform',
      namespaceNames,
    )
    .option(
      '--owner-cluster-role <name>',
      'Name the ClusterRole with which the garbage collector removes the webhook configurations',
    )
    .option(
      '--break-glass-group <name>',
      'Let this group relax and delete a Policy whatever other Policies say (default: kidp:break-glass)',
      breakGlassGroup,
    )
    .option('--drain-seconds <number>', 'Keep answering requests for this long after SIGTERM', seconds, 5)
    .option(
      '--exception-namespace <name...>',
      'Honor PolicyExceptions in these namespaces (default: policy-exceptions)',
    )
    .addOption(
      new Option('--report-api <group>', 'Write the findings of the background scan as kinds of this API group')
        .choices(['openreports.io', 'wgpolicyk8s.io'])
        .default('openreports.io'),
    )
    .addOption(
      new Option('--log-level <level>', 'Log entries of this level and above')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .action(async (flags: ServeFlags) => {
      const { serve } = await import('./run.ts');
      done(await serve(flags));
    });
}

const webhookGroups = ['platform-kinds', 'crds', 'namespaces'] as const satisfies readonly (keyof FailurePolicies)[];

function failurePolicyFor(text: string, before: FailurePolicies = {}): FailurePolicies {
  const [, name, value] = /^([a-z-]+)=(Fail|Ignore)$/.exec(text) ?? [];
  const group = webhookGroups.find((each) => each === name);
  if (group === undefined) {
    throw new InvalidArgumentError(`"${text}": want WEBHOOK=Fail or WEBHOOK=Ignore, for ${webhookGroups.join(', ')}`);
  }
  return { ...before, [group]: value };
}

/** Groups of Kubernetes itself contain every user, or all administrators: with one of them, no Policy could hold. */
function breakGlassGroup(text: string): string {
  if (/^system:|[\p{C}\p{Z}]|^$/u.test(text) || text.length > 256) {
    throw new InvalidArgumentError('want the name of a group of your own, without spaces, and not one of system:');
  }
  return text;
}

function seconds(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 600) {
    throw new InvalidArgumentError('want a whole number of seconds from 0 to 600');
  }
  return number;
}
