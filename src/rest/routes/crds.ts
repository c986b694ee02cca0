/**
 * CustomResourceDefinitions: every known version, their state on each cluster, and the compatibility of a change
 * (docs/requirements.md, 002, FR-OP-004). CRDs in a chart are known automatically; others can be registered.
 */
import {
  type Approval,
  approval,
  approvalOutcome,
  OPERATOR_LABEL,
  type Operator,
  type OperatorDeployment,
  type OperatorInstallation,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../api/index.ts';
import { type Crd, changeDigest, readCrd } from '../../crd-compat/index.ts';
import { Problem } from '../../runtime/internal.ts';
import { type Known, type KnownDefinitions, migrationGuideOf, summaries } from '../definitions.ts';
import { all, find, get, orNothing, page } from '../objects.ts';
import { invalid, notFound } from '../problems.ts';
import { type Answer, admins, type Call, changers, everybody, type Route } from '../route.ts';
import { objectNameSchema, ref } from '../schemas.ts';
import { decided } from './approvals.ts';
import { pageQuery, prefix } from './common.ts';

const name = { name: objectNameSchema('The CRD, for example `widgets.example.com`.') };
const tag = 'CRDs';

export function crdRoutes(definitions: KnownDefinitions): readonly Route[] {
  return [
    {
      method: 'POST',
      path: `${prefix}/crds`,
      operationId: 'createCrd',
      tag,
      summary: 'Register a CRD that is not in the chart of its operator',
      roles: changers,
      body: { schema: ref('NewCrd'), required: true },
      answer: {
        status: 201,
        description: 'The CRD was stored; the response lists its changes.',
        schema: ref('CrdVerdict'),
      },
      problems: [409],
      perMinute: 30,
      audit: 'crd.create',
      run: (call) => register(call, definitions),
    },
    {
      method: 'GET',
      path: `${prefix}/crds`,
      operationId: 'listCrds',
      tag,
      summary: 'List CRDs',
      description: '`limit` counts operators. A CRD of several operators is listed once for each.',
      roles: everybody,
      query: pageQuery,
      answer: { status: 200, description: 'The CRDs of a page of operators.', schema: ref('CrdPage') },
      problems: [410],
      async run(call) {
        const { items, ...rest } = await page<Operator>(call, operator);
        const registered = await definitions.registered(call);
        return { status: 200, body: { items: items.flatMap((each) => summaries(each, registered)), ...rest } };
      },
    },
    {
      method: 'GET',
      path: `${prefix}/crds/{name}`,
      operationId: 'getCrd',
      tag,
      summary: 'Get a CRD and its state on each cluster',
      roles: everybody,
      params: name,
      answer: { status: 200, description: 'The CRD.', schema: ref('Crd') },
      problems: [404],
      run: (call) => describe(call, definitions),
    },
    {
      method: 'POST',
      path: `${prefix}/crds/{name}/validate`,
      operationId: 'validateCrd',
      tag,
      summary: 'Validate a change of a CRD',
      roles: everybody,
      params: name,
      body: { schema: ref('CrdComparison'), required: true },
      answer: { status: 200, description: 'The verdict and all changes.', schema: ref('CrdVerdict') },
      problems: [404],
      perMinute: 30,
      run: (call) => validate(call, definitions),
    },
    {
      method: 'POST',
      path: `${prefix}/crds/{name}/approve`,
      operationId: 'approveCrd',
      tag,
      summary: 'Approve a pending breaking change of a CRD',
      roles: admins,
      params: name,
      body: { schema: ref('CrdApproval'), required: false },
      answer: { status: 200, description: 'The decision was recorded.', schema: ref('Approval') },
      problems: [404, 409],
      audit: 'crd.approve',
      run: approve,
    },
  ];
}

async function register(call: Call, definitions: KnownDefinitions): Promise<Answer> {
  const { operator: of, version, definition } = call.body as { operator: string; version: string; definition: object };
  const crd = readDefinition(definition);
  const owner = await orNothing(get<Operator>(call, operator, of));
  if (owner === undefined) throw invalid([{ path: '/operator', message: 'operator not found' }]);
  const before = await definitions.newest(call, crd.metadata.name, { operator: of });
  // A CRD that cannot be compared in time is not stored either.
  const guide = async () => migrationGuideOf(owner, version);
  const body = await verdictOf(call, definitions, { after: crd, before, guide });
  const kept = await definitions.register(call, owner, version, crd);
  call.touched(kept);
  return {
    status: 201,
    body,
    headers: { location: `${prefix}/crds/${crd.metadata.name}` },
  };
}

async function validate(call: Call, definitions: KnownDefinitions): Promise<Answer> {
  const { definition, targetVersion, ...which } = call.body as {
    definition: object;
    operator?: string;
    version?: string;
    targetVersion?: string;
  };
  const crd = readDefinition(definition);
  const { name: wanted = '' } = call.params;
  if (crd.metadata.name !== wanted) {
    throw invalid([{ path: '/definition/metadata/name', message: `must be ${wanted}, the name in the path` }]);
  }
  const before = await definitions.newest(call, wanted, which);
  if (before === undefined && (which.operator !== undefined || which.version !== undefined)) {
    throw notFound('definition of that operator and version', wanted);
  }
  const guide = async () => {
    if (targetVersion === undefined || before === undefined) return undefined;
    const owner = await orNothing(get<Operator>(call, operator, before.operator));
    return owner === undefined ? undefined : migrationGuideOf(owner, targetVersion);
  };
  return { status: 200, body: await verdictOf(call, definitions, { after: crd, before, guide }) };
}

interface Comparison {
  readonly after: Crd;
  readonly before: Known | undefined;
  /** The migration guide of the target version: the guide of the previous version describes an earlier upgrade. */
  readonly guide: () => Promise<string | undefined>;
}

function verdictOf(call: Call, definitions: KnownDefinitions, comparison: Comparison) {
  const { after, before } = comparison;
  const owner = before === undefined ? {} : { 'operator.name': before.operator };
  const options = { parent: call.traceparent, attributes: { 'crd.name': after.metadata.name, ...owner } };
  return call.tracer.span('operator.validate', options, async (span) => {
    const said = await compared(call, definitions, comparison);
    span.set({ 'crd.verdict': said.verdict });
    return said;
  });
}

async function compared({ signal }: Call, definitions: KnownDefinitions, { after, before, guide }: Comparison) {
  const { name: named } = after.metadata;
  if (before === undefined) {
    definitions.onValidated();
    return { name: named, verdict: 'created', compatible: true, digest: changeDigest(undefined, after), changes: [] };
  }
  const { operator: of, version } = before;
  const { verdict, digest, changes } = await definitions.compare(await before.load(), after, signal);
  definitions.onValidated();
  const migrationGuide = verdict === 'breaking' ? await guide() : undefined;
  return {
    name: named,
    verdict,
    compatible: verdict !== 'breaking',
    digest,
    comparedWith: { operator: of, version },
    ...(migrationGuide === undefined ? {} : { migrationGuide }),
    changes: changes.map(({ version: changed, path, kind, class: bad, message, hits, advice }) => ({
      version: changed,
      path,
      kind,
      class: bad,
      message,
      hits,
      advice,
    })),
  };
}

function readDefinition(definition: object): Crd {
  const { crd, issues } = readCrd(definition);
  if (crd !== undefined) return crd;
  throw invalid(
    issues.map(({ path, message, next }) => ({
      path: `/definition${
        path === ''
          ? ''
          : `/${path
              .replace(/\[(\d+)\]/g, '.$1')
              .split('.')
              .join('/')}`
      }`,
      message: `${message} ${next}`,
    })),
  );
}

async function describe(call: Call, definitions: KnownDefinitions): Promise<Answer> {
  const { name: wanted = '' } = call.params;
  const versions = await definitions.versions(call, wanted);
  if (versions.length === 0) throw notFound('definition', wanted);
  const owners = [...new Set(versions.map((each) => each.operator))];
  const installed = await Promise.all(
    owners.map((each) => all<OperatorInstallation>(call, operatorInstallation, `${OPERATOR_LABEL}=${each}`)),
  );
  const clusters = installed.flat().flatMap(({ spec, status }) =>
    (status?.definitions ?? [])
      .filter((each) => each.name === wanted)
      .map(({ digest, storedVersions }) => ({
        clusterName: spec.cluster,
        operator: spec.operator,
        operatorVersion: spec.version,
        digest,
        ...(storedVersions === undefined ? {} : { storedVersions }),
      })),
  );
  return { status: 200, body: { name: wanted, versions, clusters } };
}

async function approve(call: Call): Promise<Answer> {
  const { name: wanted = '' } = call.params;
  const { approval: which, reason } = (call.body ?? {}) as { approval?: string; reason?: string };
  if (which !== undefined) {
    const found = await find<Approval>(call, approval, which);
    if (!(await isAbout(call, found, wanted))) throw notFound(`Approval for ${wanted}`, which);
    return decided(call, found, 'Approve', reason);
  }
  const pending = (await all<Approval>(call, approval)).filter((each) => approvalOutcome(each) === 'Pending');
  const about = await Promise.all(
    pending.map(async (each) => ((await isAbout(call, each, wanted)) ? each : undefined)),
  );
  const waiting = about.filter((each) => each !== undefined);
  const [only, ...more] = waiting;
  if (only === undefined)
    throw new Problem(404, 'nothing-waits', `no breaking change of ${wanted} is pending approval`);
  if (more.length > 0) {
    const names = waiting.map(({ metadata }) => metadata.name).join(', ');
    throw new Problem(
      409,
      'several-wait',
      `several Approvals are pending for ${wanted}, select one with \`approval\`: ${names}`,
    );
  }
  return decided(call, only, 'Approve', reason);
}

/** Matches an Approval for the CRD itself, or for a deployment that would break it. */
async function isAbout(call: Call, { spec }: Approval, definition: string): Promise<boolean> {
  const { subject, type } = spec;
  if (subject.kind === 'CustomResourceDefinition') return subject.name === definition;
  if (subject.kind !== operatorDeployment.kind || type !== 'BreakingCRDChange') return false;
  const found = await orNothing(get<OperatorDeployment>(call, operatorDeployment, subject.name));
  if (found?.metadata.uid !== subject.uid) return false;
  return (found.status?.plan?.definitions ?? []).some(
    (each) => each.name === definition && each.verdict === 'breaking',
  );
}
