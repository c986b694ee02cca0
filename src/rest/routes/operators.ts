/** Operators: register, list, read and delete (docs/requirements.md, 002 FR-OP-001 and FR-OP-005). */
import { API_VERSION, type Operator, operator, sameVersion } from '../../api/index.ts';
import { type Charts, FleetError } from '../../fleet/index.ts';
import { create, get, page, remove, shown } from '../objects.ts';
import { invalid } from '../problems.ts';
import { type Call, changers, everybody, type Route } from '../route.ts';
import { objectNameSchema, ref } from '../schemas.ts';
import { metadataOf, type Named, pageQuery, prefix } from './common.ts';

const name = { name: objectNameSchema('The operator.', 63) };
const tag = 'Operators';

interface OperatorParts {
  readonly charts: Pick<Charts, 'versions'>;
  readonly repositoryMilliseconds: number;
}

export function operatorRoutes(parts: OperatorParts): readonly Route[] {
  return [
    {
      method: 'POST',
      path: `${prefix}/operators`,
      operationId: 'createOperator',
      tag,
      summary: 'Register an operator',
      description: 'The versions in the chart repository are listed before anything is stored.',
      roles: changers,
      body: { schema: ref('NewOperator'), required: true },
      answer: { status: 201, description: 'Registered.', schema: ref('Operator') },
      problems: [409],
      audit: 'operator.create',
      run: (call) => register(call, parts),
    },
    {
      method: 'GET',
      path: `${prefix}/operators`,
      operationId: 'listOperators',
      tag,
      summary: 'List operators',
      roles: everybody,
      query: pageQuery,
      answer: { status: 200, description: 'A page of operators.', schema: ref('OperatorPage') },
      problems: [410],
      perMinute: 60,
      async run(call) {
        const { items, ...rest } = await page<Operator>(call, operator);
        return { status: 200, body: { items: items.map((each) => shown(each)), ...rest } };
      },
    },
    {
      method: 'GET',
      path: `${prefix}/operators/{name}`,
      operationId: 'getOperator',
      tag,
      summary: 'Get an operator',
      roles: everybody,
      params: name,
      answer: { status: 200, description: 'The operator.', schema: ref('Operator') },
      problems: [404],
      run: async (call) => ({ status: 200, body: shown(await get<Operator>(call, operator, call.params.name ?? '')) }),
    },
    {
      method: 'DELETE',
      path: `${prefix}/operators/{name}`,
      operationId: 'deleteOperator',
      tag,
      summary: 'Delete an operator',
      description: 'Installations on clusters stay.',
      roles: changers,
      params: name,
      answer: { status: 204, description: 'Forgotten.' },
      problems: [404, 409],
      audit: 'operator.delete',
      async run(call) {
        const found = await get<Operator>(call, operator, call.params.name ?? '');
        call.touched(found);
        await remove(call, operator, found);
        return { status: 204 };
      },
    },
  ];
}

async function register(call: Call, parts: OperatorParts) {
  const { name: given, labels, ...spec } = call.body as Named & Operator['spec'];
  const metadata = metadataOf({ name: given, ...(labels === undefined ? {} : { labels }) });
  // A dry run comes first: nothing is fetched on behalf of a caller who cannot store the object.
  const { object: draft } = await create<Operator>(call, operator, { metadata, spec }, { dryRun: true });
  const there = await versionsOf({ ...draft, apiVersion: API_VERSION }, call, parts);
  const missing = (spec.versions ?? []).flatMap(({ version, chartVersion = version }, index) =>
    there.some((each) => sameVersion(each.version, chartVersion))
      ? []
      : [{ path: `/versions/${index}/version`, message: `the chart has no version ${chartVersion}` }],
  );
  if (missing.length > 0) throw invalid(missing);
  const { object, warnings } = await create<Operator>(call, operator, { metadata, spec });
  call.touched(object);
  return {
    status: 201,
    body: shown(object, { warnings }),
    headers: { location: `${prefix}/operators/${object.metadata.name}` },
  };
}

/**
 * A repository that accepts a connection and never responds counts as unreachable, so its timeout is shorter than that
 * of the request.
 */
async function versionsOf(
  draft: Operator,
  { caller, traceparent, signal }: Call,
  { charts, repositoryMilliseconds }: OperatorParts,
): ReturnType<Charts['versions']> {
  const deadline = AbortSignal.timeout(repositoryMilliseconds);
  try {
    return await charts.versions(draft, {
      operator: draft.metadata.name,
      userId: caller.user,
      traceparent,
      signal: AbortSignal.any([signal, deadline]),
    });
  } catch (error) {
    if (error !== deadline.reason) throw error;
    const message = `the chart repository did not respond within ${repositoryMilliseconds / 1000} s`;
    throw new FleetError('chart/unreachable', message, { temporary: true });
  }
}
