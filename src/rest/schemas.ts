/** The shapes of what comes in and goes out. Those of objects are the schemas of their kinds, without what is Kubernetes' own. */
import {
  approval,
  cluster,
  type Kind,
  type JsonSchema as KindSchema,
  operator,
  operatorDeployment,
  schemaFor,
} from '../api/index.ts';
import { roles } from './caller.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

const text = (description: string, more: JsonSchema = {}): JsonSchema => ({ type: 'string', description, ...more });
const instant = (description: string): JsonSchema => text(description, { format: 'date-time' });
const count = (description: string): JsonSchema => ({ type: 'integer', minimum: 0, description });
const listOf = (items: JsonSchema, description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'array',
  items,
  description,
  ...more,
});
const record = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  description = '',
): JsonSchema => ({
  type: 'object',
  ...(description === '' ? {} : { description }),
  required,
  additionalProperties: false,
  properties,
});

const subdomain = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
export const objectNameSchema = (description: string, maxLength = 253): JsonSchema =>
  text(description, { minLength: 1, maxLength, pattern: subdomain });
export const idSchema = (what: string): JsonSchema => objectNameSchema(`The id of ${what}, or its name.`);

/** As in the kinds. */
const versionSchema = (description: string): JsonSchema => ({
  ...schemaFor(operatorDeployment).properties?.spec?.properties?.version,
  description,
});

const labels: JsonSchema = {
  type: 'object',
  description: 'Labels, to select it by.',
  maxProperties: 64,
  additionalProperties: { type: 'string', maxLength: 63 },
};

type Parts = Readonly<{ required: readonly string[]; properties: Readonly<Record<string, KindSchema>> }>;
const partsOf = (schema: KindSchema | undefined, without: readonly string[] = []): Parts => ({
  required: (schema?.required ?? []).filter((name) => !without.includes(name)),
  properties: Object.fromEntries(Object.entries(schema?.properties ?? {}).filter(([name]) => !without.includes(name))),
});

/** As it is sent to be created. */
function input(
  kind: Kind,
  {
    without = [],
    more = {},
    named = true,
  }: { without?: readonly string[]; more?: Readonly<Record<string, JsonSchema>>; named?: boolean },
) {
  const { required, properties } = partsOf(schemaFor(kind).properties?.spec, without);
  const name = objectNameSchema(named ? 'Its name.' : 'Its name. Left out, one is made up.', kind.maxNameLength);
  return record(
    { name, labels, ...more, ...properties } as Readonly<Record<string, JsonSchema>>,
    [...(named ? ['name'] : []), ...Object.keys(more), ...required],
    kind.description,
  );
}

/** As it is answered with. */
function output(
  kind: Kind,
  { without = [], withoutStatus = [] }: { without?: readonly string[]; withoutStatus?: readonly string[] } = {},
): JsonSchema {
  const { spec, status } = schemaFor(kind).properties ?? {};
  const { required, properties } = partsOf(spec, without);
  const inStatus = partsOf(status, withoutStatus);
  return record(
    {
      id: text('Its id: it stays the same for as long as the object lives, and no other has it.', { format: 'uuid' }),
      name: text('Its name.'),
      labels,
      createdAt: instant('When it was created.'),
      deletingSince: instant('Since when it is being deleted.'),
      ...properties,
      status: record(
        inStatus.properties as Readonly<Record<string, JsonSchema>>,
        inStatus.required,
        'What the platform knows about it.',
      ),
      warnings: listOf(text('A sentence.'), 'What should be known about the change that was just made.'),
    },
    ['id', 'name', 'createdAt', ...required],
    kind.description,
  );
}

const page = (of: string): JsonSchema =>
  record(
    {
      items: listOf(ref(of), 'In the order of their names.'),
      continue: text('Where the next page begins: send it as `continue`. Left out, this was the last one.'),
    },
    ['items'],
  );

const health = ['Healthy', 'Unhealthy', 'Unknown'];
const installationHealth: Readonly<Record<string, JsonSchema>> = {
  health: text('How it fares there, all in all.', { enum: health }),
  version: text('The version that is there.'),
  controllerPods: count('How many of its pods run.'),
  webhookStatus: text('Its admission webhooks.', { enum: ['Available', 'Unavailable', 'NotChecked', 'Unknown'] }),
  crdReconciliation: text('Its custom resources.', { enum: ['Active', 'Failing', 'NotChecked', 'Unknown'] }),
  message: text('What is wrong.'),
  lastChecked: instant('When it was last looked at.'),
};
const installationRequired = ['health', 'controllerPods', 'webhookStatus', 'crdReconciliation'];

const change = record(
  {
    version: text('The version of the definition that is changed; empty: all of it.'),
    path: text('Where, in an object or in the definition.'),
    kind: text('What sort of change it is.'),
    class: text('How bad it is.', { enum: ['breaking', 'risky', 'safe'] }),
    message: text('What is different.'),
    hits: text('Who is hit.'),
    advice: text('What to do instead.'),
  },
  ['version', 'path', 'kind', 'class', 'message', 'hits', 'advice'],
);

const verdict: Readonly<Record<string, JsonSchema>> = {
  name: text('The name of the definition.'),
  verdict: text('The worst of its changes; `created` where there was nothing to compare it with.', {
    enum: ['breaking', 'risky', 'safe', 'created'],
  }),
  compatible: { type: 'boolean', description: 'Whether it may be rolled out to production without an approval.' },
  digest: text('Of exactly this change.'),
  comparedWith: record(
    { operator: text('The operator.'), version: text('Its version.') },
    ['operator', 'version'],
    'What it was compared with.',
  ),
  changes: listOf(change, 'Every change.'),
  migrationGuide: text(
    'With breaking changes: what the operator says that users have to do, of the version that the definition comes with.',
  ),
};

const definitionVersion = record(
  {
    operator: text('The operator that it comes with.'),
    version: text('The version of the operator.'),
    digest: text('The digest of its spec.'),
    served: listOf(text('A version.'), 'The versions that it serves.'),
    compatibility: text('What the version before becomes through all definitions of this one.', {
      enum: ['safe', 'risky', 'breaking'],
    }),
    registered: { type: 'boolean', description: 'It was sent here, and is not from the chart.' },
  },
  ['operator', 'version', 'digest', 'registered'],
);

/** By the name under which the document has them. */
export const schemas: Readonly<Record<string, JsonSchema>> = {
  Operator: output(operator),
  NewOperator: input(operator, {}),
  OperatorPage: page('Operator'),
  Cluster: output(cluster, { without: ['credentials'], withoutStatus: ['credentialsDigest'] }),
  NewCluster: input(cluster, {
    without: ['credentials'],
    more: {
      kubeconfig: text(
        'How it is reached: exactly one context, everything inline, as `kubectl config view --minify --flatten --raw` prints it. It is sealed at once, and never comes back.',
        { minLength: 1, maxLength: 262_144, writeOnly: true },
      ),
    },
  }),
  ClusterPage: page('Cluster'),
  Deployment: output(operatorDeployment),
  NewDeployment: input(operatorDeployment, { without: ['promote', 'abort', 'rollback'], named: false }),
  DeploymentPage: page('Deployment'),
  Promotion: record(
    {
      stage: {
        type: 'integer',
        minimum: 1,
        maximum: 1000,
        description: 'The stage to go on with. Left out, the one that is under way.',
      },
    },
    [],
  ),
  RollbackStatus: record(
    {
      deploymentId: text('The deployment.', { format: 'uuid' }),
      deploymentName: text('Its name.'),
      state: text('How far it is.', { enum: ['None', 'Requested', 'InProgress', 'Completed', 'Failed'] }),
      reason: text('What set it off.'),
      message: text('In a sentence.'),
      startedAt: instant('When it was begun.'),
      finishedAt: instant('When it was done.'),
      clusters: listOf(
        record(
          {
            clusterName: text('The cluster.'),
            state: text('What has become of it.'),
            targetVersion: text('What it is taken back to; left out, it was not installed before.'),
            message: text('In a sentence.'),
          },
          ['clusterName', 'state'],
        ),
        'Those that were touched.',
      ),
    },
    ['deploymentId', 'deploymentName', 'state', 'clusters'],
  ),
  OperatorHealth: record(
    {
      operatorName: text('The operator.'),
      overallHealth: text('The worst of all clusters.', { enum: health }),
      clusters: listOf(
        record({ clusterName: text('The cluster.'), ...installationHealth }, ['clusterName', ...installationRequired]),
        'Where it is.',
      ),
    },
    ['operatorName', 'overallHealth', 'clusters'],
  ),
  ClusterHealth: record(
    {
      clusterName: text('The cluster.'),
      health: text('Whether it can be reached.', { enum: health }),
      overallHealth: text('The worst of it and its operators.', { enum: health }),
      environment: text('What it is for.'),
      kubernetesVersion: text('What it runs.'),
      latencyMilliseconds: count('How long it took to answer.'),
      message: text('What is wrong.'),
      lastChecked: instant('When it was last asked.'),
      operators: listOf(
        record({ operatorName: text('The operator.'), ...installationHealth }, [
          'operatorName',
          ...installationRequired,
        ]),
        'What is there.',
      ),
    },
    ['clusterName', 'health', 'overallHealth', 'environment', 'operators'],
  ),
  InstallationHealth: record(
    { operatorName: text('The operator.'), clusterName: text('The cluster.'), ...installationHealth },
    ['operatorName', 'clusterName', ...installationRequired],
  ),
  SealingKey: {
    type: 'object',
    description: 'A public JSON Web Key: kubeconfigs are sealed to it.',
    required: ['kty', 'crv', 'x'],
    properties: { kty: text('Its kind.'), crv: text('Its curve.'), x: text('Its point.'), kid: text('Its id.') },
  },
  Approval: output(approval),
  ApprovalPage: page('Approval'),
  Decision: record({ reason: text('Why.', { maxLength: 4096 }) }, []),
  Crd: record(
    {
      name: text('The name of the definition.'),
      versions: listOf(definitionVersion, 'Every version of it that is known, of each operator the newest first.'),
      clusters: listOf(
        record(
          {
            clusterName: text('The cluster.'),
            operator: text('The operator that uses it there.'),
            operatorVersion: text('The version of that operator.'),
            digest: text('The digest of its spec there.'),
            storedVersions: listOf(text('A version.'), 'The versions that objects are stored in.'),
          },
          ['clusterName', 'operator', 'operatorVersion', 'digest'],
        ),
        'What is where.',
      ),
    },
    ['name', 'versions', 'clusters'],
  ),
  CrdSummary: record(
    { name: text('The name of the definition.'), versions: listOf(definitionVersion, 'The newest first.') },
    ['name', 'versions'],
  ),
  CrdPage: page('CrdSummary'),
  NewCrd: record(
    {
      operator: objectNameSchema('The operator that it belongs to.', 63),
      version: versionSchema('The version of the operator that it comes with.'),
      definition: { type: 'object', description: 'A CustomResourceDefinition of apiextensions.k8s.io/v1.' },
    },
    ['operator', 'version', 'definition'],
  ),
  CrdComparison: record(
    {
      definition: {
        type: 'object',
        description: 'A CustomResourceDefinition of apiextensions.k8s.io/v1: what it is to become.',
      },
      operator: objectNameSchema('Compare with that of this operator. Left out, whichever is known.', 63),
      version: versionSchema('Compare with that of this version of the operator. Left out, the newest.'),
      targetVersion: versionSchema(
        'The version of the operator that it is to come with: where it breaks something, the migration guide of that version is shown.',
      ),
    },
    ['definition'],
  ),
  CrdVerdict: record(verdict, ['name', 'verdict', 'compatible', 'changes']),
  CrdApproval: record(
    {
      approval: objectNameSchema('Which Approval, by id or name, where several wait.'),
      reason: text('Why.', { maxLength: 4096 }),
    },
    [],
  ),
  Health: record({ status: text('That it runs.', { enum: ['ok'] }) }, ['status']),
  Problem: {
    type: 'object',
    description: 'Problem details (RFC 9457).',
    required: ['type', 'title', 'status', 'code', 'detail'],
    properties: {
      type: text('A URN of the code.'),
      title: text('The name of the status.'),
      status: { type: 'integer', description: 'The status of the answer.' },
      code: text('For programs.'),
      detail: text('For people.'),
      errors: listOf(
        record(
          {
            path: text('A JSON Pointer into the body, or the name of a parameter.'),
            message: text('What is wrong there.'),
          },
          ['path', 'message'],
        ),
        'Every field that is wrong.',
      ),
      roles: listOf(text('A role.', { enum: roles }), 'One of these is needed.'),
      traceId: text('Under which the log has more.'),
    },
  },
};
