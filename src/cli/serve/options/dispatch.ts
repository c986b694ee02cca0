/** Turns the flags of `serve` into the options of dispatch. */

import type { DispatchOptions } from '../../../platform/index.ts';
import type { Logger } from '../../../runtime/index.ts';
import type { DispatchFlags } from '../flags/dispatch.ts';
import { authorityFile, certificateFiles, kafkaFiles } from './certificate-files.ts';

/** `dispatchOptions` returns undefined with --no-dispatch. */
export function dispatchOptions(flags: DispatchFlags, host: string, log: Logger): DispatchOptions | undefined {
  if (!flags.dispatch) return undefined;
  const { kafka, kafkaTls, statusTls } = flags;
  return {
    issuer: flags.brokerIssuer,
    kafka:
      kafka === undefined
        ? undefined
        : { bootstrapServers: kafka, tls: kafkaTls === undefined ? undefined : kafkaFiles(kafkaTls) },
    statusApi: {
      host: flags.statusHost ?? host,
      port: flags.statusPort,
      url: flags.statusUrl,
      tls: statusTls === undefined ? 'webhook' : certificateFiles(statusTls, log),
      authorities: statusTls === undefined ? undefined : () => authorityFile(statusTls),
    },
    insecureHttp: flags.insecureHttp,
    reservedNamespaces: flags.reservedNamespace,
  };
}
