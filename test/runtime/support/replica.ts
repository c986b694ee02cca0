/** One replica of the webhook as a process of its own: certificates in the shared Secret, lives of seconds. Says where it listens. */
import { startAdmission } from '../../../src/admission/index.ts';
import { connect, type Logger, loadKubeconfig } from '../../../src/runtime/index.ts';

const { KUBECONFIG: file, NAMESPACE: namespace = '', IDENTITY: identity = '', PORT: port = '0' } = process.env;
const write = (message: string, fields: object = {}) => {
  if (process.env.VERBOSE)
    process.stderr.write(`${Date.now() % 1e6} ${identity} ${message} ${JSON.stringify(fields)}\n`);
};
const log: Logger = { debug: write, info: write, warn: write, error: write, with: () => log };

const client = connect(loadKubeconfig(file === undefined ? {} : { file }));
const admission = await startAdmission({
  client,
  port: Number(port),
  reusePort: true,
  install: port === '0',
  identity,
  certificateSecret: { namespace, name: 'kidp-serving' },
  certificateLives: {
    authorityMilliseconds: 90_000,
    leafMilliseconds: 24_000,
    backdateMilliseconds: 60_000,
    settleMilliseconds: 3000,
    resyncMilliseconds: 200,
    vanishMilliseconds: 30_000,
  },
  log,
});
process.stdout.write(`listening ${admission.port}\n`);

process.once('SIGTERM', () => {
  void admission
    .stop()
    .then(() => client.close())
    .then(() => process.exit(0));
});
