/**
 * A contestant: this webhook, which authenticates the API server, with so many policies that match and so many that do not. Given a kubeconfig it keeps the policies of
 * that cluster; else it has made them itself. Says where it listens, and since when it is ready.
 */
import { flushCompileCache } from 'node:module';
import { startAdmission, startPolicySource } from '../../src/admission/index.ts';
import { compilePolicy, policySet, readPolicy, type World } from '../../src/policy/index.ts';
import { connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { matching, other } from './policies.ts';

const [matches = '0', others = '0', kubeconfig] = process.argv.slice(2);

function made(objects: readonly object[]) {
  const policies = objects.map((object) => {
    const { model } = readPolicy(object as Readonly<Record<string, unknown>>);
    const { policy } = model === undefined ? {} : compilePolicy(model);
    if (policy === undefined) throw new Error(`does not compile: ${JSON.stringify(object)}`);
    return policy;
  });
  const set = policySet({ policies });
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return {
    current: (): { set: typeof set; world: World } => ({
      set,
      world: { now: Date.now(), namespace, find: () => undefined },
    }),
    synced: () => true,
  };
}

function live(file: string) {
  const client = connect(loadKubeconfig({ file }));
  return startPolicySource({ client, platformNamespace: 'kidp-system', exceptionNamespaces: [] });
}

const of = (count: string, policy: (index: number) => object) =>
  Array.from({ length: Number(count) }, (_, i) => policy(i));
const policies = kubeconfig === undefined ? made([...of(matches, matching), ...of(others, other)]) : live(kubeconfig);
const { CLIENT_CA: ca = '' } = process.env;
const admission = await startAdmission({ policies, clients: { current: () => ({ ca }), subscribe: () => () => {} } });
while (!admission.ready) await new Promise((resolve) => setTimeout(resolve, 5));
const { url, caBundle } = admission;
const count = policies.current().set.policies.length;
flushCompileCache();
process.stdout.write(`${JSON.stringify({ url, caBundle, policies: count, readyMilliseconds: performance.now() })}\n`);
