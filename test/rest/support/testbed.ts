/** The REST API over the shared API server. Every response is validated against the OpenAPI document. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { request } from 'undici';
import { expect } from 'vitest';
import { writeKubeconfig } from '../../../src/fleet/index.ts';
import type { RestOptions } from '../../../src/rest/index.ts';
import { type Client, loadKubeconfig } from '../../../src/runtime/index.ts';
import { installKinds } from '../../api/support/installed.ts';
import { sharedCluster } from '../../support/cluster.ts';
import { type Facade, openFacade } from './facade.ts';

export interface Asked {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
  readonly body: any;
}

export interface AskOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Starts another replica. */
  readonly url?: string;
}

export interface Stage extends Facade {
  /** Client of a Kubernetes administrator. */
  readonly admin: Client;
  readonly namespace: string;
  /** The whole kubeconfig of the shared API server. */
  readonly kubeconfig: string;
  ask(path: string, options?: AskOptions): Promise<Asked>;
}

export async function openStage(more: Partial<RestOptions> = {}): Promise<Stage> {
  const { kubeconfig, uniqueNamespace } = sharedCluster();
  const { client: admin } = await installKinds();
  const namespace = await uniqueNamespace('rest');
  const facade = await openFacade({ kubeconfig, admin, namespace }, more);
  return {
    ...facade,
    admin,
    namespace,
    kubeconfig: writeKubeconfig(loadKubeconfig({ file: kubeconfig })),
    ask: await asking(facade.rest.url, await facade.token('reader-of-the-document', [])),
    async stop() {
      await facade.stop();
      await admin.close();
    },
  };
}

interface Operation {
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema: object }> }>>;
}

/** Sends a request, and fails if the document does not contain the response of this operation. */
async function asking(url: string, reader: string): Promise<Stage['ask']> {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const document = JSON.parse(await textOf(`${url}/openapi.json`, reader)) as {
    paths: Record<string, Record<string, Operation>>;
    components: object;
  };
  const checks = new Map<object, ValidateFunction>();
  const checkOf = (schema: object): ValidateFunction => {
    const known = checks.get(schema) ?? ajv.compile({ ...schema, components: document.components });
    checks.set(schema, known);
    return known;
  };
  const forms = Object.keys(document.paths)
    // A path without parameters before one that would take it in.
    .sort((one, other) => one.split('{').length - other.split('{').length)
    .map((path) => ({ path, form: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`) }));
  return async (path, { method = 'GET', body, token, headers = {}, url: other = url } = {}) => {
    const answer = await request(`${other}${path}`, {
      method: method as 'GET',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const asked: Asked = {
      status: answer.statusCode,
      headers: answer.headers,
      text,
      body: text === '' ? undefined : parsed(text),
    };
    const known = forms.find(({ form }) => form.test(path.split('?', 1)[0] ?? ''));
    const operation = known === undefined ? undefined : document.paths[known.path]?.[method.toLowerCase()];
    if (operation !== undefined) demandDocumented(asked, operation, `${method} ${path}`);
    return asked;
  };

  function demandDocumented(asked: Asked, { responses }: Operation, what: string): void {
    const described = responses[String(asked.status)];
    expect(described, `${what} answered ${asked.status}, which is not in the document: ${asked.text}`).toBeDefined();
    const [type] = String(asked.headers['content-type'] ?? '').split(';', 1);
    const schema = described?.content?.[type ?? '']?.schema;
    if (schema === undefined) {
      expect(asked.text, `${what}: ${asked.status} of the type ${type}`).toBe('');
      return;
    }
    const check = checkOf(schema);
    expect(check(asked.body) ? [] : check.errors, `${what}: ${asked.text.slice(0, 2000)}`).toEqual([]);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function textOf(url: string, token: string): Promise<string> {
  const { statusCode, body } = await request(url, { headers: { authorization: `Bearer ${token}` } });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}: ${text}`);
  return text;
}
