/** What in an OperatorDeployment or an Operator cannot be meant, as far as it can be told from itself. The bounds of each field are the schema's. */
import { millisecondsOf, type Operator, type OperatorDeployment, withoutV } from '../../../api/index.ts';
import type { Violation } from '../../review/findings.ts';

const wrong = (field: string, message: string, next: string): Violation => ({
  gate: 'operators',
  code: 'Contradiction',
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
        `${stages[falls]} % is not more than the stage before, ${stages[falls - 1]} %`,
        'Name shares of all clusters that rise from stage to stage',
      ),
    ];
  }
  if (initialPercentage + incrementPercentage <= 100) return [];
  return [
    wrong(
      'canaryConfig.incrementPercentage',
      `${initialPercentage} % and ${incrementPercentage} % more are over 100 %`,
      'Make one of them smaller',
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
      : [wrong('rollingConfig.clusterOrder', `"${twice[0]}" is named twice`, 'Name each cluster once')]),
    ...(strange.length === 0
      ? []
      : [
          wrong(
            'rollingConfig.clusterOrder',
            `"${strange[0]}" is not among spec.clusters`,
            'Add it there, or leave it out here',
          ),
        ]),
  ];
}

/** How long nothing may happen, although all is well: a deadline that is shorter could never be kept. */
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
      .map(([field]) => wrong(field, 'no time at all is never enough', 'Give it some, for example PT5M')),
    ...(wait.milliseconds > 0 && millisecondsOf(progressDeadline) <= wait.milliseconds
      ? [
          wrong(
            'progressDeadline',
            `${progressDeadline} is over before spec.${wait.field} is, so that the rollout would always fail`,
            'Make it longer',
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
