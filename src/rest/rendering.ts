/**
 * Whether a chart renders with the values of a deployment, before that is created: what does not is the caller's to mend, and is told at once
 * and not by a rollout that waits in Planning. Only that is refused here. What cannot be found out, or not in time, is left to Planning, which
 * looks at everything once more.
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

/** Each is a process of Helm. Who comes when there are so many is not kept waiting. */
const mostAtOnce = 4;
const mostKnown = 1000;

export function renderCheck(charts: Pick<Charts, 'fetch' | 'render'>, milliseconds: number): RenderCheck {
  /** By what was rendered: undefined where it renders, else why not. */
  const known = new Map<string, string | undefined>();
  let underWay = 0;

  /** The chart is fetched only where it is not known yet: its repository may take longer than Helm. */
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
    // Where it was made anew under the same version, it is another one.
    if (fetched.digest === chart.digest) known.set(key, why);
    if (known.size > mostKnown) known.delete(known.keys().next().value ?? '');
    return why;
  }

  return async (call, spec) => {
    // What is in the Secret is not for whoever answers here to read.
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
      // A repository that is away, a Helm that is not there, or the time that is over.
      call.log.warn('chart rendering could not be checked before the rollout', { ...named(spec), error });
    } finally {
      underWay -= 1;
    }
  };
}

const named = ({ operator, version }: Spec) => ({ operatorName: operator, version });

type Rendering = Parameters<Charts['render']>[1] & {
  /** As the status of the Operator tells of it. */
  readonly chart: { readonly version: string; readonly digest: string | undefined };
};

/** One for each environment that it reaches and has values for, else one for all: with the version of one of the clusters there. */
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

/** What the caller can mend it by: without values of theirs, only by another version, or by some. */
function fieldOf({ values, environmentValues }: Spec, environment: Environment): string {
  if (environmentValues?.[environment] !== undefined) return `/environmentValues/${environment}`;
  return values === undefined ? '/version' : '/values';
}
