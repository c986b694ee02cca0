/** One replica of the webhook as a process of its own, with the live policies of its cluster. Says where it listens. */
import { policyGate, startAdmission, startPolicySource } from '../../../src/admission/index.ts';
import { connect, loadKubeconfig } from '../../../src/runtime/index.ts';

const { KUBECONFIG: file = '', NAMESPACE: platformNamespace = '', IDENTITY: identity = '', PORT = '0' } = process.env;
const client = connect(loadKubeconfig({ file }));
const source = startPolicySource({ client, platformNamespace, exceptionNamespaces: ['policy-exceptions'] });
const admission = await startAdmission({
  client,
  identity,
  port: Number(PORT),
  reusePort: true,
  install: false,
  policies: source,
  owners: source.owners,
  mapping: () => source.mapping,
  policyGate: policyGate({ client, source }),
  certificateSecret: { namespace: platformNamespace, name: 'kidp-serving' },
  certificateLives: { settleMilliseconds: 1000, resyncMilliseconds: 500 },
  platformNamespace,
});
await source.whenSynced();
if (process.env.LEADS === 'yes') {
  const apply = () => admission.configurations?.apply(source.current().set.scope);
  await apply();
  source.subscribe(() => void apply()?.catch((error: unknown) => process.stderr.write(`${error}\n`)));
}
process.stdout.write(`listening ${admission.port}\n`);
const report = () =>
  process.stdout.write(
    `policies ${source
      .current()
      .set.policies.map(({ model }) => model.name)
      .join(' ')}\n`,
  );
source.subscribe(report);
report();

process.once('SIGTERM', () => {
  void admission
    .stop()
    .then(() => source.stop())
    .then(() => client.close())
    .then(() => process.exit(0));
});
