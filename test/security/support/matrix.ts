/** Every request that a user can send about every kind that an API server has, from its discovery: new kinds are in it automatically. */
import type { Client } from '../../../src/runtime/index.ts';
import type { RawRequest } from '../../../src/runtime/internal.ts';

export interface Cell {
  readonly group: string;
  /** The plural of the resource, with its subresource: `services/status`. */
  readonly resource: string;
  readonly verb: string;
  /** The namespace; undefined for the whole cluster. */
  readonly namespace: string | undefined;
  /** How the verb is sent, where there are several ways: the media type of a patch. */
  readonly form?: string;
  readonly request: RawRequest;
}

interface Discovered {
  readonly name: string;
  readonly namespaced: boolean;
}

const patches = ['json-patch', 'merge-patch', 'strategic-merge-patch', 'apply-patch'] as const;

/** The requests in each of the namespaces, and in the whole cluster. `name` is the name of the objects that are aimed at. */
export async function everyRequest(
  admin: Client,
  { namespaces, name, bodyOf }: { namespaces: readonly string[]; name: string; bodyOf: (at: Place) => object },
): Promise<Cell[]> {
  const cells: Cell[] = [];
  for (const { group, root, resources } of await discover(admin)) {
    for (const { name: resource, namespaced } of resources) {
      const places = namespaced ? [...namespaces, undefined] : [undefined];
      for (const namespace of places)
        cells.push(...requestsAt({ group, root, resource, namespaced, namespace, name: nameOf(resource), bodyOf }));
    }
  }
  return cells;

  // RBAC treats a Namespace as part of itself: a role in it could cover it.
  function nameOf(resource: string): string {
    return resource.split('/', 1)[0] === 'namespaces' ? (namespaces[0] ?? name) : name;
  }
}

async function discover(admin: Client) {
  const read = async (path: string) => JSON.parse((await admin.request({ method: 'GET', path })).text);
  const { groups } = (await read('/apis')) as {
    groups: { name: string; preferredVersion: { groupVersion: string } }[];
  };
  const roots = [
    { group: '', root: '/api/v1' },
    ...groups.map(({ name: group, preferredVersion }) => ({ group, root: `/apis/${preferredVersion.groupVersion}` })),
  ];
  return Promise.all(
    roots.map(async (at) => ({ ...at, resources: (await read(at.root)).resources as readonly Discovered[] })),
  );
}

export interface Place {
  readonly group: string;
  readonly root: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly namespace: string | undefined;
  readonly name: string;
}

interface AnyPlace extends Place {
  readonly bodyOf: (at: Place) => object;
}

function requestsAt(at: AnyPlace): Cell[] {
  const { root, resource, namespaced, namespace, name, bodyOf } = at;
  const [plural = '', subresource] = resource.split('/', 2);
  const collection = `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
  const item = `${collection}/${name}${subresource === undefined ? '' : `/${subresource}`}`;
  const body = bodyOf(at);
  const query = { dryRun: 'All' };
  const cell = (verb: string, request: RawRequest, form?: string): Cell => ({
    group: at.group,
    resource,
    verb,
    namespace,
    request,
    ...(form === undefined ? {} : { form }),
  });
  const reads = [
    cell('list', { method: 'GET', path: collection }),
    cell('watch', { method: 'GET', path: collection, query: { watch: '1', timeoutSeconds: '1' } }),
  ];
  // Objects of a namespace are read in the whole cluster, and written in their namespace only.
  if (namespaced && namespace === undefined) return subresource === undefined ? reads : [];
  const writes = [
    cell('update', { method: 'PUT', path: item, query, body }),
    ...patches.map((form) => {
      const more = form === 'apply-patch' ? { fieldManager: 'matrix', force: 'true' } : {};
      const contentType = `application/${form}+${form === 'apply-patch' ? 'yaml' : 'json'}`;
      const patch = form === 'json-patch' ? [] : form === 'apply-patch' ? body : {};
      return cell(
        'patch',
        { method: 'PATCH', path: item, query: { ...query, ...more }, contentType, body: patch },
        form,
      );
    }),
    cell('delete', { method: 'DELETE', path: item, query }),
  ];
  if (subresource !== undefined)
    return [
      cell('get', { method: 'GET', path: item }),
      cell('create', { method: 'POST', path: item, query, body }),
      ...writes,
    ];
  return [
    ...reads,
    cell('create', { method: 'POST', path: collection, query, body }),
    cell('deletecollection', { method: 'DELETE', path: collection, query }),
    cell('get', { method: 'GET', path: item }),
    ...writes,
  ];
}

export interface Answered extends Cell {
  readonly status: number;
  readonly text: string;
}

/** Sends the requests, some at a time. */
export async function sendAll(user: Client, cells: readonly Cell[]): Promise<Answered[]> {
  const answers: Answered[] = [];
  const left = cells.values();
  const work = async () => {
    for (const cell of left) {
      const { status, text } = await user.request(cell.request);
      answers.push({ ...cell, status, text });
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return answers;
}

/** `isForbidden` reports whether authorization refused the request, before anything else looked at it. */
export const isForbidden = ({ status, text }: Answered): boolean =>
  status === 403 && / cannot \w+ resource /.test(text);

export const shown = ({ verb, form, resource, group, namespace, status, text }: Answered): string =>
  `${verb}${form === undefined ? '' : ` (${form})`} ${resource}.${group} in ${namespace ?? 'the cluster'}: ${status} ${text.slice(0, 200)}`;
