/** What the requirement says there may be at most, tried: rollouts at once, and definitions of one operator. */
import { API_VERSION, type OperatorDeployment, operatorDeployment } from '../../src/api/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { definitionFiles, largeDefinitions } from './definitions.ts';
import { type Figure, inParallel, say, seconds, timed } from './figures.ts';
import { rollOut } from './rollouts.ts';
import type { Stage } from './stage.ts';

const table = 'Scalability targets';
const atOnce = 20;
const definitions = 50;

export async function atTheLimits(stage: Stage): Promise<Figure[]> {
  return [await rolloutsAtOnce(stage), await largestOperator(stage)];
}

/** Four more than there are places: the last wait, and all come to their end. */
async function rolloutsAtOnce({ client, targets, addOperator }: Stage): Promise<Figure> {
  const names = Array.from({ length: atOnce + 4 }, (_, index) => `crowd-${index}`);
  await inParallel(names, 8, (name) => addOperator([{ name, version: '1.0.0' }]));
  let most = 0;
  const { milliseconds } = await timed(async () => {
    await Promise.all(
      names.map((name, index) =>
        client.create(operatorDeployment.resource, {
          apiVersion: API_VERSION,
          kind: 'OperatorDeployment',
          metadata: { name },
          spec: {
            operator: name,
            version: '1.0.0',
            clusters: [targets[index % targets.length]?.name],
            // Long enough under way that all who may be are so together.
            strategy: 'Rolling',
            rollingConfig: { validationPeriod: 'PT20S', pauseBetweenClusters: 'PT0S' },
          },
        } as unknown as OperatorDeployment),
      ),
    );
    await eventually(
      async () => {
        const { items } = await client.list<OperatorDeployment>(operatorDeployment.resource, {});
        const own = items.filter(({ metadata }) => names.includes(metadata.name));
        const phases = own.map(({ status }) => status?.phase);
        most = Math.max(most, own.filter(isUnderWay).length);
        if (phases.includes('Failed')) return true;
        return phases.every((phase) => phase === 'Completed');
      },
      { within: 600_000, every: 100 },
    );
    const { items } = await client.list<OperatorDeployment>(operatorDeployment.resource, {});
    const failed = items.filter(({ metadata, status }) => names.includes(metadata.name) && status?.phase === 'Failed');
    if (failed.length > 0) throw new Error(`${failed.map(({ metadata }) => metadata.name).join(', ')} failed`);
  });
  say(`  ${names.length} rollouts begun at once: ${seconds(milliseconds)}, ${most} of them under way together`);
  return {
    table,
    what: `deployments under way at once, at most, of ${names.length} begun together`,
    value: most,
    unit: '',
    // As many as there may be, and never one more.
    target: ['=', atOnce],
  };
}

const isUnderWay = ({ status }: OperatorDeployment): boolean =>
  status?.startedAt !== undefined && status.finishedAt === undefined;

async function largestOperator({ client, targets, addOperator }: Stage): Promise<Figure> {
  const name = 'many';
  const files = definitionFiles(await largeDefinitions(name, definitions));
  await addOperator([{ name, version: '1.0.0', definitionIn: 'nowhere', files }]);
  const spec = { operator: name, version: '1.0.0', clusters: [targets[0]?.name], strategy: 'Direct' };
  const { result, milliseconds } = await rollOut(client, name, spec);
  const tracked = result.status?.plan?.definitions?.length ?? 0;
  say(`  an operator with ${tracked} definitions on one cluster: ${seconds(milliseconds)}`);
  return { table, what: 'definitions of one operator', value: tracked, unit: '', target: ['≥', definitions] };
}
