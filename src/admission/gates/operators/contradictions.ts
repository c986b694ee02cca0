/** Detects contradictions within an OperatorDeployment or an Operator. The schema checks the bounds of each field. */
import { millisecondsOf, type Operator, type OperatorDeployment, withoutV } from '../../../api/index.ts';
import type { Violation } from '../../review/findings.ts';

const wrong = (field: string, message: string, next: string): Violation => ({
  gate: 'operators',
  code: 'InvalidConfiguration',
  reason: 'Invalid',
  field: `spec.${field}`,
  message,
  next,
});

type Spec = OperatorDeployment['spec'];

export function contradictionsIn(spec: Spec): Violation[] {
  return [...inCanary(spec), ...inOrder(spec), ...inTimes(spec)];
}

function inCanary({ canaryConfig }: Spec): Violation[] {
  if (canaryConfig === undefined) return [];
  const { initialPercentage, incrementPercentage, stages } = canaryConfig;
  if (stages !== undefined) {
    const falls = stages.findIndex((each, index) => index > 0 && each <= (stages[index - 1] ?? 0));
    if (falls < 0) return [];
    return [
      wrong(
        `canaryConfig.stages[${falls}]`,
        `${stages[falls]} % is not greater than the previous stage, ${stages[falls - 1]} %`,
        'Use strictly increasing percentages of all clusters',
      ),
    ];
  }
  if (initialPercentage + incrementPercentage <= 100) return [];
  return [
    wrong(
      'canaryConfig.incrementPercentage',
      `${initialPercentage} % plus ${incrementPercentage} % exceeds 100 %`,
      'Reduce one of them',
    ),
  ];
}

function inOrder({ clusters, rollingConfig }: Spec): Violation[] {
  const order = rollingConfig?.clusterOrder ?? [];
  const twice = order.filter((each, index) => order.indexOf(each) !== index);
  const strange = clusters === undefined ? [] : order.filter((each) => !clusters.includes(each));
  return [
    ...(twice.length === 0
      ? []
      : [wrong('rollingConfig.clusterOrder', `"${twice[0]}" is listed twice`, 'List each cluster once')]),
    ...(strange.length === 0
      ? []
      : [
          wrong(
            'rollingConfig.clusterOrder',
            `"${strange[0]}" is not in spec.clusters`,
            'Add it to spec.clusters, or remove it here',
          ),
        ]),
  ];
}

/** Returns the longest pause of a healthy rollout. A shorter deadline could never be met. */
function longestWait(spec: Spec): { field: string; milliseconds: number } {
  const of = (field: string, duration: string) => ({ field, milliseconds: millisecondsOf(duration) });
  const waits = [
    of('health.minimumSoak', spec.health.minimumSoak),
    ...(spec.canaryConfig === undefined
      ? []
      : [of('canaryConfig.evaluationPeriod', spec.canaryConfig.evaluationPeriod)]),
    ...(spec.rollingConfig === undefined
      ? []
      : [
          of('rollingConfig.validationPeriod', spec.rollingConfig.validationPeriod),
          of('rollingConfig.pauseBetweenClusters', spec.rollingConfig.pauseBetweenClusters),
        ]),
    ...(spec.blueGreenConfig === undefined
      ? []
      : [
          of('blueGreenConfig.validationPeriod', spec.blueGreenConfig.validationPeriod),
          of('blueGreenConfig.monitorPeriod', spec.blueGreenConfig.monitorPeriod),
        ]),
  ];
  return waits.reduce((longest, each) => (each.milliseconds > longest.milliseconds ? each : longest));
}

function inTimes(spec: Spec): Violation[] {
  const { progressDeadline, helmTimeout, health } = spec;
  const wait = longestWait(spec);
  const zero = [
    ['helmTimeout', helmTimeout],
    ['progressDeadline', progressDeadline],
    ['health.interval', health.interval],
  ] as const;
  return [
    ...zero
      .filter(([, duration]) => millisecondsOf(duration) === 0)
      .map(([field]) => wrong(field, 'must be greater than zero', 'Set it, for example, to PT5M')),
    ...(wait.milliseconds > 0 && millisecondsOf(progressDeadline) <= wait.milliseconds
      ? [
          wrong(
            'progressDeadline',
            `${progressDeadline} is not longer than spec.${wait.field}, so the rollout would always fail`,
            'Increase it',
          ),
        ]
      : []),
  ];
}

export function contradictionsInOperator({ versions = [] }: Operator['spec']): Violation[] {
  const seen = new Map<string, string>();
  return versions.flatMap(({ version }, index) => {
    const known = seen.get(withoutV(version));
    seen.set(withoutV(version), version);
    if (known === undefined) return [];
    return [wrong(`versions[${index}].version`, `"${version}" and "${known}" are the same version`, 'List it once')];
  });
}
