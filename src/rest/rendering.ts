/**
 * Checks before a deployment is created that the chart renders with its values, so that the caller gets an error at
 * once instead of a rollout that waits in Planning. Only a rendering failure is rejected. If the check is not possible
 * in time, Planning repeats it.
 */
import { createHash } from 'node:crypto';
import {
  type Cluster,
  cluster as clusterKind,
  type Environment,
  type Operator,
  type OperatorDeployment,
  operator as operatorKind,
  sameVersion,
} from '../api/index.ts';
import { type Charts, FleetError } from '../fleet/index.ts';
import type { LabelSelector } from '../policy/index.ts';
import { selects } from '../policy/internal.ts';
import { Problem } from '../runtime/internal.ts';
import { all, get, orNothing } from './objects.ts';
import { invalid } from './problems.ts';
import type { Call } from './route.ts';

type Spec = OperatorDeployment['spec'];

/** Throws a Problem (400) that names the field. */
export type RenderCheck = (call: Call, spec: Spec) => Promise<void>;

/** Each check is a Helm process. Requests beyond this number skip the check instead of waiting. */
const mostAtOnce = 4;
const mostKnown = 1000;

export function renderCheck(charts: Pick<Charts, 'fetch' | 'render'>, milliseconds: number): RenderCheck {
  /** Cached results by input: undefined if it renders, otherwise the error. */
  const known = new Map<string, string | undefined>();
  let underWay = 0;

  /** Fetches the chart only if the result is not cached, because its repository can be slower than Helm. */
  async function whyNot({ chart, ...input }: Rendering, operator: Operator, call: Call, signal: AbortSignal) {
    const key = createHash('sha256')
      .update(JSON.stringify([operator.metadata.uid, chart, input]))
      .digest('hex');
    if (known.has(key)) return known.get(key);
    const { user: userId } = call.caller;
    const context = { operator: input.operator, version: input.version, userId, traceparent: call.traceparent, signal };
    const fetched = await charts.fetch(operator, chart.version, context);
    const why = await charts.render(fetched, input, context).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof FleetError && error.code === 'chart/does-not-render') return error.message;
        throw error;
      },
    );
    // If the chart was published again under the same version, the result belongs to another digest.
    if (fetched.digest === chart.digest) known.set(key, why);
    if (known.size > mostKnown) known.delete(known.keys().next().value ?? '');
    return why;
  }

  return async (call, spec) => {
    // The REST API must not read the Secret with the values.
    if (spec.valuesSecret !== undefined || underWay >= mostAtOnce) return;
    const operator = await orNothing(get<Operator>(call, operatorKind, spec.operator));
    if (operator === undefined) return;
    const renderings = renderingsOf(spec, operator, await all<Cluster>(call, clusterKind));
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(milliseconds)]);
    underWay += 1;
    try {
      for (const rendering of renderings) {
        const why = await whyNot(rendering, operator, call, signal);
        if (why !== undefined) throw invalid([{ path: fieldOf(spec, rendering.environment), message: why }]);
      }
    } catch (error) {
      if (error instanceof Problem || call.signal.aborted) throw error;
      // The repository is unreachable, Helm is not installed, or the timeout has passed.
      call.log.warn('chart rendering could not be checked before the rollout', { ...named(spec), error });
    } finally {
      underWay -= 1;
    }
  };
}

const named = ({ operator, version }: Spec) => ({ operatorName: operator, version });

type Rendering = Parameters<Charts['render']>[1] & {
  /** Version and digest from the status of the Operator. */
  readonly chart: { readonly version: string; readonly digest: string | undefined };
};

/**
 * `renderingsOf` returns one rendering per selected environment that has values of its own, otherwise one for all, with
 * the Kubernetes version of one of its clusters.
 */
export function renderingsOf(spec: Spec, operator: Operator, clusters: readonly Cluster[]): Rendering[] {
  const found = operator.status?.versions?.find(({ version }) => sameVersion(version, spec.version));
  if (found?.state !== 'Available') return [];
  const renderings = new Map<Environment | 'all', Rendering>();
  for (const { metadata, spec: of, status } of clusters) {
    const kubernetesVersion = status?.kubernetesVersion;
    const { environment } = of;
    if (kubernetesVersion === undefined || !reaches(spec, environment, metadata)) continue;
    const own = spec.environmentValues?.[environment];
    const key = own === undefined ? 'all' : environment;
    if (renderings.has(key)) continue;
    renderings.set(key, {
      operator: spec.operator,
      version: spec.version,
      chart: { version: found.chartVersion, digest: found.digest },
      environment,
      kubernetesVersion,
      namespace: operator.spec.namespace ?? 'operators',
      releaseName: operator.spec.releaseName ?? operator.metadata.name.slice(0, 53),
      values: [spec.values ?? {}, own ?? {}],
    });
  }
  return [...renderings.values()];
}

function reaches(spec: Spec, environment: Environment, { name, labels = {} }: Cluster['metadata']): boolean {
  if (spec.environments?.includes(environment) === false) return false;
  if (spec.clusters !== undefined) return spec.clusters.includes(name);
  return selects((spec.clusterSelector ?? {}) as LabelSelector, labels);
}

/** `fieldOf` returns the field that the caller can fix: the values or, without values, the version. */
function fieldOf({ values, environmentValues }: Spec, environment: Environment): string {
  if (environmentValues?.[environment] !== undefined) return `/environmentValues/${environment}`;
  return values === undefined ? '/version' : '/values';
}
