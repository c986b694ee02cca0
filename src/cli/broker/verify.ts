/** `kidp broker verify`: whether a broker keeps the contract, as a table or as JSON. */
import { type CheckResult, type ConformanceOptions, verifyBroker } from '../../broker/index.ts';
import { InputError } from '../common/failure.ts';
import type { BrokerStreams } from './command.ts';
import { kafkaTls, readFields } from './files.ts';
import type { VerifyFlags } from './options.ts';

export async function verify(url: string, flags: VerifyFlags, { out, err }: BrokerStreams): Promise<number> {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new InputError('url', `"${url}" is not the address of a broker: want http(s)://HOST:PORT.`);
  }
  const isText = flags.output === 'text';
  const results = await verifyBroker({
    url,
    issuer: flags.issuer,
    listen: listenAddress(flags.listen),
    namespace: flags.namespace,
    parameters: flags.parameter ?? {},
    timeoutMilliseconds: flags.timeout * 1000,
    key: flags.key === undefined ? undefined : (readFields(flags.key, '--key') as ConformanceOptions['key']),
    replyUrl: flags.replyUrl,
    kind: flags.kind,
    spec: flags.spec === undefined ? undefined : readFields(flags.spec, '--spec'),
    brokerIssuer: flags.brokerIssuer,
    insecureHttp: flags.insecureHttp ?? false,
    kafka: flags.kafka === undefined ? undefined : { ...flags, bootstrapServers: flags.kafka, tls: kafkaTls(flags) },
    onResult: (result) => {
      if (isText) out.write(`${line(result)}\n`);
    },
  });
  const failed = results.filter(({ result }) => result === 'fail').length;
  if (isText) {
    err.write(failed === 0 ? `${results.length} checks passed\n` : `${failed} of ${results.length} checks failed\n`);
  } else {
    out.write(`${JSON.stringify({ url, passed: failed === 0, results }, undefined, 2)}\n`);
  }
  return failed === 0 ? 0 : 1;
}

/** `fail  token-expired        an expired token is refused` and below it what was seen. */
function line({ id, title, result, message }: CheckResult): string {
  const head = `${result}  ${id.padEnd(20)}  ${title}`;
  return message === undefined ? head : `${head}\n      ${message}`;
}

function listenAddress(text: string): { host: string; port: number } {
  const [, host, port] = /^(.+):([0-9]{1,5})$/.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535) {
    throw new InputError('listen', `--listen is "${text}": want HOST:PORT, with port 0 for any free one.`);
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}
