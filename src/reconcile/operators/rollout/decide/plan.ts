/**
 * The parts of a plan that are fixed when a rollout starts: the strategy's configuration with defaults, the stages, and
 * the pacing.
 */
import { createHash } from 'node:crypto';
import { type Environment, environments, millisecondsOf } from '../../../../api/index.ts';
import type { Plan, Rollout } from '../rollout.ts';

type Spec = Rollout['spec'];

export interface PlannedCluster {
  readonly name: string;
  readonly environment: Environment;
  /** An unavailable cluster does not count for the size of a stage. */
  readonly available: boolean;
}

/** All fields of the strategy, with the defaults of the requirement. */
type Config = Readonly<Record<string, unknown>>;

export function configOf(spec: Spec, coexist: boolean): Config {
  switch (spec.strategy) {
    case 'Canary':
      return {
        initialPercentage: 10,
        incrementPercentage: 20,
        evaluationPeriod: 'PT5M',
        successThreshold: 0.95,
        ...spec.canaryConfig,
      };
    case 'BlueGreen':
      return {
        blueNamespace: 'operators-blue',
        greenNamespace: 'operators-green',
        validationPeriod: 'PT10M',
        autoSwitch: true,
        monitorPeriod: 'PT5M',
        retentionPeriod: 'PT24H',
        coexist,
        ...spec.blueGreenConfig,
      };
    case 'Rolling': {
      // The stages contain the order already, and a thousand names would take too much space.
      const { clusterOrder, ...config } = spec.rollingConfig ?? {};
      return { validationPeriod: 'PT5M', pauseBetweenClusters: 'PT2M', ...config };
    }
    case 'Direct':
      return { parallelClusters: 10, skipHealthChecks: false, ...spec.directConfig };
  }
}

/** The stages of the strategy, none of them empty. */
export function stagesOf(spec: Spec, clusters: readonly PlannedCluster[]): Plan['stages'] {
  const ordered = inEnvironmentOrder(clusters);
  const names = ordered.map(({ name }) => name);
  if (names.length === 0) return [];
  switch (spec.strategy) {
    case 'Canary':
      return canaryStages(spec, ordered);
    case 'BlueGreen':
      return [{ name: 'Switch', clusters: names }];
    case 'Rolling':
      return rollingOrder(spec, names).map((name, index) => ({
        // With very many stages the names would take too much space: the cluster has its name already.
        name: names.length <= 100 ? name : `${index + 1}`,
        clusters: [name],
      }));
    case 'Direct':
      return [{ name: 'All', clusters: names }];
  }
}

/** Dev before Staging before Production, and by name. */
function inEnvironmentOrder(clusters: readonly PlannedCluster[]): PlannedCluster[] {
  const rank = ({ environment }: PlannedCluster) => environments.indexOf(environment);
  return [...clusters].sort((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
}

/** Percentages refer to the available clusters, rounded up. Unavailable clusters are in the last stage. */
function canaryStages({ canaryConfig }: Spec, ordered: readonly PlannedCluster[]): Plan['stages'] {
  const { initialPercentage = 10, incrementPercentage = 20, stages } = canaryConfig ?? {};
  const shares = stages ?? [initialPercentage, Math.min(100, initialPercentage + incrementPercentage)];
  const available = ordered.filter(({ available }) => available).map(({ name }) => name);
  const unavailable = ordered.filter(({ available }) => !available).map(({ name }) => name);
  const ends = [...new Set([...shares, 100])]
    .sort((one, other) => one - other)
    .map((share) => Math.ceil((available.length * share) / 100));
  const parts = ends.map((end, index) => available.slice(ends[index - 1] ?? 0, end)).filter((part) => part.length > 0);
  const last = parts.pop() ?? [];
  return [...parts, [...last, ...unavailable]].map((part, index) => ({ name: `Stage ${index + 1}`, clusters: part }));
}

/** The clusters in spec.rollingConfig.clusterOrder first, then the others. */
function rollingOrder({ rollingConfig }: Spec, names: readonly string[]): string[] {
  const named = (rollingConfig?.clusterOrder ?? []).filter((name) => names.includes(name));
  return [...new Set([...named, ...names])];
}

/** The pace of a stage, derived from the plan. */
export interface Pacing {
  /** The number of clusters at a time. */
  readonly parallel: number;
  /** The next cluster starts only when the previous one is healthy. */
  readonly oneByOne: boolean;
  readonly healthChecks: boolean;
  /** The validation period after the deployment of a stage (in a blue-green deployment: before the switch). */
  periodMilliseconds(stage: number): number;
  readonly pauseMilliseconds: number;
  /** The share of health checks in a stage that must pass. */
  readonly successThreshold: number;
  readonly blueGreen?: {
    readonly autoSwitch: boolean;
    readonly coexist: boolean;
    /** The validation period after the switch. */
    readonly monitorMilliseconds: number;
    readonly retentionMilliseconds: number;
  };
}

/** The number of clusters at a time if the strategy does not set it. */
const defaultParallel = 10;

export function pacingOf({ strategy, config, stages }: Pick<Plan, 'strategy' | 'config' | 'stages'>): Pacing {
  const duration = (field: string): number => millisecondsOf(String(config[field]));
  const common = { parallel: defaultParallel, oneByOne: false, healthChecks: true, pauseMilliseconds: 0 };
  switch (strategy) {
    case 'Canary': {
      const period = duration('evaluationPeriod');
      const { successThreshold } = config as { successThreshold: number };
      // The last of several stages is validated without a waiting period (docs/requirements.md, 002 FR-OP-003).
      const hasPeriod = (stage: number) => stages.length === 1 || stage < stages.length;
      return { ...common, periodMilliseconds: (stage) => (hasPeriod(stage) ? period : 0), successThreshold };
    }
    case 'BlueGreen': {
      const { autoSwitch, coexist } = config as { autoSwitch: boolean; coexist: boolean };
      const [validation, monitor] = [duration('validationPeriod'), duration('monitorPeriod')];
      return {
        ...common,
        // Nothing runs before the switch that could be validated, so the validation follows it.
        periodMilliseconds: () => (coexist ? validation : 0),
        successThreshold: 0,
        blueGreen: {
          autoSwitch,
          coexist,
          monitorMilliseconds: coexist ? monitor : Math.max(validation, monitor),
          retentionMilliseconds: duration('retentionPeriod'),
        },
      };
    }
    case 'Rolling': {
      const period = duration('validationPeriod');
      return {
        ...common,
        parallel: 1,
        oneByOne: true,
        periodMilliseconds: () => period,
        pauseMilliseconds: duration('pauseBetweenClusters'),
        successThreshold: 0,
      };
    }
    case 'Direct': {
      const { parallelClusters, skipHealthChecks } = config as { parallelClusters: number; skipHealthChecks: boolean };
      return {
        ...common,
        parallel: parallelClusters,
        healthChecks: !skipHealthChecks,
        periodMilliseconds: () => 0,
        successThreshold: 0,
      };
    }
  }
}

/** The digest of a plan and its snapshots. An Approval is valid for exactly this digest. */
export function planDigest(
  plan: Omit<Plan, 'digest' | 'createdAt'>,
  snapshots: readonly (readonly [cluster: string, digest: string])[],
): string {
  const text = JSON.stringify([sorted(plan), snapshots]);
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** Returns a copy with the keys of every object sorted. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}
