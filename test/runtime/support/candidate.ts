/**
 * A process that contends for a lease and, while it leads, writes as fast as it may: creates objects that are stamped with its term, and
 * sets the status of each over exactly the version that it made, which nobody else ever touches: only the fence can keep it from that.
 * Started by test/soak/leader.ts, which kills and stops it. Says what it does in lines on stdout, ends with its parent's stdin.
 *
 * Once its lease is lost it goes on trying to write for a while: what it may write then is nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  connect,
  FenceError,
  fenced,
  type KubernetesObject,
  keyOf,
  LeaderElection,
  loadKubeconfig,
} from '../../../src/runtime/index.ts';

const [kubeconfig = '', namespace = '', identity = '', timing = '{}', pause = '0'] = process.argv.slice(2);
const pauseMilliseconds = Number(pause);
const writers = 4;
const triesAfterLoss = 200;

process.stdin.resume().on('end', () => process.exit(0));
const say = (event: string, fields: object = {}) => process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);

const election = new LeaderElection({
  client: connect(loadKubeconfig({ file: kubeconfig })),
  lease: { namespace, name: 'leader' },
  identity,
  ...JSON.parse(timing),
});
const leaderClient = fenced(connect(loadKubeconfig({ file: kubeconfig })), election);

say('started');
await election.acquire(new AbortController().signal);
say('leading', { term: election.term, at: Date.now() });
await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
process.exit(1);

async function write(writer: number): Promise<void> {
  let refused = 0;
  for (let count = 0; refused < triesAfterLoss; count += 1) {
    try {
      const created = await leaderClient.create<KubernetesObject & { spec: object }>(ingresses(), {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        metadata: {
          name: `${identity}-${writer}-${count}`,
          namespace,
          labels: { term: String(election.term), writer: identity },
        },
        spec: { defaultBackend: { service: { name: 'nothing', port: { number: 80 } } } },
      });
      if (pauseMilliseconds > 0) await sleep(pauseMilliseconds);
      const { resourceVersion, uid } = created.metadata;
      const status = { loadBalancer: { ingress: [{ hostname: identity }] } };
      await leaderClient.patch(
        ingresses(),
        keyOf(created),
        { type: 'merge', body: { metadata: { resourceVersion, uid }, status } },
        { subresource: 'status' },
      );
      if (pauseMilliseconds > 0) await sleep(pauseMilliseconds);
    } catch (error) {
      if (election.signal.aborted) refused += 1;
      if (refused === 1 && writer === 0)
        say('lost', { refusedBy: error instanceof FenceError ? 'fence' : String(error) });
      await sleep(5);
    }
  }
}

/** Of the kinds that have a status, one whose status nobody here but us writes. */
function ingresses() {
  return { group: 'networking.k8s.io', version: 'v1', plural: 'ingresses', kind: 'Ingress', namespaced: true };
}
