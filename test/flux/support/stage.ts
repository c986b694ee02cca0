/**
 * The platform on its own control plane with real Flux. All Flux tests share it, because it takes longer to start than
 * they take to run.
 */
import { eventually } from '../../../src/runtime/testing/index.ts';
import { definitions } from '../../admission/support/platform.ts';
import { deep, refusalOf, widgets } from '../../crd-gate/support/platform.ts';
import { type PolicyPlane, patient, startPolicyPlane } from '../../live-policies/support/platform.ts';
import { type Flux, startFlux } from '../../support/flux.ts';
import { type GitServer, serveGit } from '../../support/git-server.ts';

export interface FluxStage {
  readonly live: PolicyPlane;
  readonly flux: Flux;
  readonly server: GitServer;
  stop(): Promise<void>;
}

export async function startFluxStage(): Promise<FluxStage> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const live = await startPolicyPlane();
    stops.push(() => live.stop());
    const server = await serveGit();
    stops.push(() => server.close());
    // Use another user than the platform itself, which has more permissions than others.
    const kubeconfig = await live.plane.kubeconfigFor({ name: 'flux', groups: ['system:masters'] });
    const [flux] = await Promise.all([startFlux({ kubeconfig }), live.start()]);
    stops.push(() => flux.stop());
    await eventually(() => isAsked(live), patient);
    return { live, flux, server, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Reports whether the API server calls the webhooks: an object that the gate always denies is denied. */
async function isAsked({ client }: PolicyPlane): Promise<boolean> {
  const probe = () => client.create(definitions, widgets('probes', deep(400)), { dryRun: true });
  return (await refusalOf(probe)).includes('crd compatibility');
}
