/**
 * Deployments: start, follow, pause, promote, abort and roll back (docs/requirements.md, 002 FR-OP-003 and FR-OP-006).
 */
import { randomBytes } from 'node:crypto';
import { type OperatorDeployment, operatorDeployment, rolloutPhases, TRACEPARENT_ANNOTATION } from '../../api/index.ts';
import { Problem } from '../../runtime/internal.ts';
import { create, find, page, patchSpec, remove, shown } from '../objects.ts';
import type { RenderCheck } from '../rendering.ts';
import { type Answer, admins, type Call, changers, everybody, type Route } from '../route.ts';
import { idSchema, objectNameSchema, ref } from '../schemas.ts';
import { metadataOf, type Named, pageQuery, prefix } from './common.ts';

const id = { id: idSchema('the deployment') };
const tag = 'Deployments';
const one = { schema: ref('Deployment') };

export const deploymentRoutes = (check: RenderCheck): readonly Route[] => [
  {
    method: 'POST',
    path: `${prefix}/deployments`,
    operationId: 'createDeployment',
    tag,
    summary: 'Start a deployment',
    description:
      'The chart is rendered with the values before anything is stored. The clusters and stages are fixed when the deployment starts. Required approvals are requested automatically.',
    roles: changers,
    body: { schema: ref('NewDeployment'), required: true },
    answer: { status: 202, description: 'Accepted: the progress is in its status.', ...one },
    problems: [409],
    perMinute: 10,
    audit: 'deployment.create',
    run: (call) => start(call, check),
  },
  {
    method: 'GET',
    path: `${prefix}/deployments`,
    operationId: 'listDeployments',
    tag,
    summary: 'List deployments',
    roles: everybody,
    query: {
      ...pageQuery,
      operator: objectNameSchema('Only deployments of this operator.', 63),
      phase: { type: 'string', enum: rolloutPhases, description: 'Only deployments in this phase.' },
    },
    answer: { status: 200, description: 'A page of deployments.', schema: ref('DeploymentPage') },
    problems: [410],
    async run(call) {
      const { operator, phase } = call.query;
      const { items, ...rest } = await page<OperatorDeployment>(
        call,
        operatorDeployment,
        ({ spec, status }) =>
          (operator === undefined || spec.operator === operator) && (phase === undefined || status?.phase === phase),
      );
      return { status: 200, body: { items: items.map((each) => shown(each)), ...rest } };
    },
  },
  {
    method: 'GET',
    path: `${prefix}/deployments/{id}`,
    operationId: 'getDeployment',
    tag,
    summary: 'Get a deployment',
    roles: everybody,
    params: id,
    answer: { status: 200, description: 'The deployment.', ...one },
    problems: [404],
    run: async (call) => ({ status: 200, body: shown(await deployment(call)) }),
  },
  {
    method: 'DELETE',
    path: `${prefix}/deployments/{id}`,
    operationId: 'deleteDeployment',
    tag,
    summary: 'Delete a deployment',
    description: 'A deployment in progress is rolled back first.',
    roles: admins,
    params: id,
    answer: { status: 202, description: 'The deployment is deleted once it has ended.', ...one },
    problems: [404, 409],
    audit: 'deployment.delete',
    async run(call) {
      const found = await deployment(call);
      call.touched(found);
      await remove(call, operatorDeployment, found);
      return { status: 202, body: shown(found) };
    },
  },
  {
    method: 'POST',
    path: `${prefix}/deployments/{id}/rollback`,
    operationId: 'rollbackDeployment',
    tag,
    summary: 'Roll back a deployment',
    description: 'Every changed cluster is restored to its previous version. This cannot be undone.',
    roles: admins,
    params: id,
    answer: { status: 202, description: 'Accepted: see the rollback status.', ...one },
    problems: [404, 409],
    audit: 'deployment.rollback',
    async run(call) {
      const found = await deployment(call);
      if (found.spec.rollback === true) return { status: 202, body: shown(found) };
      if (found.status?.rollback?.finishedAt !== undefined) {
        throw new Problem(409, 'finished', 'the deployment is already rolled back');
      }
      return controlled(call, found, { rollback: true });
    },
  },
  {
    method: 'GET',
    path: `${prefix}/deployments/{id}/rollback-status`,
    operationId: 'getRollbackStatus',
    tag,
    summary: 'Get the status of a rollback',
    roles: everybody,
    params: id,
    answer: { status: 200, description: 'The status of the rollback.', schema: ref('RollbackStatus') },
    problems: [404],
    run: async (call) => ({ status: 200, body: rollbackStatus(await deployment(call)) }),
  },
  control('pause', 'Pause: start no new cluster', () => ({ paused: true })),
  control('resume', 'Resume after a pause', () => ({ paused: false })),
  control('abort', 'Abort: every cluster keeps its current version', () => ({ abort: true })),
  {
    ...control('promote', 'Promote: skip the rest of the validation period', ({ status }, { body }) => {
      const { stage = status?.stage } = (body ?? {}) as { stage?: number };
      if (stage === undefined || stage < 1)
        throw new Problem(409, 'not-begun', 'no stage of the deployment has started yet');
      return { promote: stage };
    }),
    body: { schema: ref('Promotion'), required: false },
  },
];

/** `control` builds the route of a command for a deployment in progress. */
function control(
  verb: 'pause' | 'resume' | 'promote' | 'abort',
  summary: string,
  change: (found: OperatorDeployment, call: Call) => object,
): Route {
  return {
    method: 'POST',
    path: `${prefix}/deployments/{id}/${verb}`,
    operationId: `${verb}Deployment`,
    tag,
    summary,
    roles: changers,
    params: id,
    answer: { status: 202, description: 'Accepted.', ...one },
    problems: [404, 409],
    audit: `deployment.${verb}`,
    async run(call) {
      const found = await deployment(call);
      const { phase } = found.status ?? {};
      if (phase === 'Completed' || phase === 'Failed') {
        throw new Problem(409, 'finished', `the deployment has ended (${phase}): nothing to ${verb}`);
      }
      return controlled(call, found, change(found, call));
    },
  };
}

async function controlled(call: Call, found: OperatorDeployment, spec: object): Promise<Answer> {
  call.touched(found);
  const { object, warnings } = await patchSpec<OperatorDeployment>(call, operatorDeployment, found, spec);
  return { status: 202, body: shown(object, { warnings }) };
}

const deployment = (call: Call): Promise<OperatorDeployment> => find(call, operatorDeployment, call.params.id ?? '');

async function start(call: Call, check: RenderCheck): Promise<Answer> {
  const { name, labels, ...spec } = call.body as Partial<Named> & OperatorDeployment['spec'];
  await check(call, spec);
  const metadata = {
    ...metadataOf({ name: name ?? nameFor(spec.operator, spec.version), ...(labels === undefined ? {} : { labels }) }),
    // The work on the clusters is part of the caller's trace.
    annotations: { [TRACEPARENT_ANNOTATION]: call.traceparent },
  };
  const { object, warnings } = await create<OperatorDeployment>(call, operatorDeployment, { metadata, spec });
  call.touched(object);
  return {
    status: 202,
    body: shown(object, { warnings }),
    headers: { location: `${prefix}/deployments/${object.metadata.uid}` },
  };
}

function nameFor(operator: string, version: string): string {
  const plain = `${operator}-${version}`.toLowerCase().replace(/[^a-z0-9.-]/g, '-');
  // A name must not contain adjacent dots and dashes, although a version such as `1.0.0-.x` may.
  const tidy = plain
    .replace(/[.-]*\.[.-]*/g, '.')
    .slice(0, 56)
    .replace(/[^a-z0-9]+$/, '');
  return `${tidy}-${randomBytes(3).toString('hex')}`;
}

function rollbackStatus({ metadata, spec, status }: OperatorDeployment) {
  const { rollback, clusters = [], phase } = status ?? {};
  const touched = clusters.filter(
    ({ state }) => state === 'RollingBack' || state === 'RolledBack' || (rollback !== undefined && state === 'Failed'),
  );
  const failed = touched.some(({ state }) => state === 'Failed');
  const state =
    rollback === undefined
      ? spec.rollback === true
        ? 'Requested'
        : 'None'
      : rollback.finishedAt === undefined && phase === 'RollingBack'
        ? 'InProgress'
        : failed
          ? 'Failed'
          : 'Completed';
  return {
    deploymentId: metadata.uid,
    deploymentName: metadata.name,
    state,
    ...rollback,
    clusters: touched.map(({ name, state: now, fromVersion, message }) => ({
      clusterName: name,
      state: now,
      ...(fromVersion === undefined ? {} : { targetVersion: fromVersion }),
      ...(message === undefined ? {} : { message }),
    })),
  };
}
