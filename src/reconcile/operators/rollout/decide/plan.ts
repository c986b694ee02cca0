/** What is decided once, when a rollout starts: its configuration with everything filled in, and which clusters come in which stage. */
import { createHash } from 'node:crypto';
import { type Environment, environments, millisecondsOf } from '../../../../api/index.ts';
import type { Plan, Rollout } from '../rollout.ts';

type Spec = Rollout['spec'];

export interface PlannedCluster {
  readonly name: string;
  readonly environment: Environment;
  /** One that cannot be worked on now takes no place in a stage. */
  readonly available: boolean;
}

/** All of the strategy's fields, those that were left out with the values that the requirement gives them. */
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
      // The order is in the stages: a thousand names need room.
      const { clusterOrder, ...config } = spec.rollingConfig ?? {};
      return { validationPeriod: 'PT5M', pauseBetweenClusters: 'PT2M', ...config };
    }
    case 'Direct':
      return { parallelClusters: 10, skipHealthChecks: false, ...spec.directConfig };
  }
}

/** The stages of the strategy, none of them empty. */
export function stagesOf(spec: Spec, clusters: readonly PlannedCluster[]): Plan['stages'] {
  const ordered = inOrder(clusters);
  const names = ordered.map(({ name }) => name);
  if (names.length === 0) return [];
  switch (spec.strategy) {
    case 'Canary':
      return canaryStages(spec, ordered);
    case 'BlueGreen':
      return [{ name: 'Switch', clusters: names }];
    case 'Rolling':
      return rollingOrder(spec, names).map((name, index) => ({
        // Of very many, none is called after its cluster, which has its name already.
        name: names.length <= 100 ? name : `${index + 1}`,
        clusters: [name],
      }));
    case 'Direct':
      return [{ name: 'All', clusters: names }];
  }
}

/** Dev before Staging before Production, and by name. */
function inOrder(clusters: readonly PlannedCluster[]): PlannedCluster[] {
  const rank = ({ environment }: PlannedCluster) => environments.indexOf(environment);
  return [...clusters].sort((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
}

/** Shares are of the clusters that can be worked on, rounded up; those that cannot wait at the end. */
function canaryStages({ canaryConfig }: Spec, ordered: readonly PlannedCluster[]): Plan['stages'] {
  const { initialPercentage = 10, incrementPercentage = 20, stages } = canaryConfig ?? {};
  const shares = stages ?? [initialPercentage, Math.min(100, initialPercentage + incrementPercentage)];
  const here = ordered.filter(({ available }) => available).map(({ name }) => name);
  const away = ordered.filter(({ available }) => !available).map(({ name }) => name);
  const ends = [...new Set([...shares, 100])]
    .sort((one, other) => one - other)
    .map((share) => Math.ceil((here.length * share) / 100));
  const parts = ends.map((end, index) => here.slice(ends[index - 1] ?? 0, end)).filter((part) => part.length > 0);
  const last = parts.pop() ?? [];
  return [...parts, [...last, ...away]].map((part, index) => ({ name: `Stage ${index + 1}`, clusters: part }));
}

/** Those that are named, as they are named, then the others. */
function rollingOrder({ rollingConfig }: Spec, names: readonly string[]): string[] {
  const named = (rollingConfig?.clusterOrder ?? []).filter((name) => names.includes(name));
  return [...new Set([...named, ...names])];
}

/** How a stage is worked through, from the frozen plan. */
export interface Pacing {
  /** How many clusters at a time. */
  readonly parallel: number;
  /** The next cluster is begun only when the one before is done. */
  readonly oneByOne: boolean;
  readonly healthChecks: boolean;
  /** How long the clusters of a stage are watched once they are deployed (in a blue-green deployment: before the switch). */
  periodMilliseconds(stage: number): number;
  readonly pauseMilliseconds: number;
  /** The share of checks in a stage that must have gone well. */
  readonly successThreshold: number;
  readonly blueGreen?: {
    readonly autoSwitch: boolean;
    readonly coexist: boolean;
    /** How long it is watched after the switch. */
    readonly monitorMilliseconds: number;
    readonly retentionMilliseconds: number;
  };
}

/** So many clusters at a time where the strategy does not say. */
const defaultParallel = 10;

export function pacingOf({ strategy, config, stages }: Pick<Plan, 'strategy' | 'config' | 'stages'>): Pacing {
  const duration = (field: string): number => millisecondsOf(String(config[field]));
  const common = { parallel: defaultParallel, oneByOne: false, healthChecks: true, pauseMilliseconds: 0 };
  switch (strategy) {
    case 'Canary': {
      const period = duration('evaluationPeriod');
      const { successThreshold } = config as { successThreshold: number };
      // As it is drawn in requirement 002: the last of several stages is validated, and not waited for.
      const isWatched = (stage: number) => stages.length === 1 || stage < stages.length;
      return { ...common, periodMilliseconds: (stage) => (isWatched(stage) ? period : 0), successThreshold };
    }
    case 'BlueGreen': {
      const { autoSwitch, coexist } = config as { autoSwitch: boolean; coexist: boolean };
      const [validation, monitor] = [duration('validationPeriod'), duration('monitorPeriod')];
      return {
        ...common,
        // Nothing runs before the switch that could be watched, so it is watched as long after it.
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

/** Of exactly this plan, snapshots and all: what is approved is this and nothing else. */
export function planDigest(
  plan: Omit<Plan, 'digest' | 'createdAt'>,
  snapshots: readonly (readonly [cluster: string, digest: string])[],
): string {
  const text = JSON.stringify([sorted(plan), snapshots]);
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** With the keys of every object in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}
