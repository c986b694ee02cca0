/** The real API server with all policies of the table, and its responses. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { pluralOf } from '../../../src/policy/internal.ts';
import { type Client, connect, loadKubeconfig } from '../../../src/runtime/index.ts';
import { type ControlPlane, startControlPlane } from '../../support/cluster.ts';
import type { Json, NativePolicy, Row, Scenario } from './native-scenarios.ts';

export interface Spoken {
  readonly policy: string;
  readonly binding: string;
  readonly message: string;
}

export interface ServerAnswer {
  readonly allowed: boolean;
  readonly denial?: Spoken & { readonly reason: string };
  readonly warnings: readonly Spoken[];
  /** The audited violations; the API server records only the first. */
  readonly recorded?: Spoken;
  readonly annotations: Readonly<Record<string, string>>;
  /** The object that would have been stored. */
  readonly object?: Json;
}

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const patience = 180_000;

export class NativeServer {
  readonly #plane: ControlPlane;
  readonly #client: Client;

  private constructor(plane: ControlPlane, client: Client) {
    this.#plane = plane;
    this.#client = client;
  }

  static async start(scenarios: readonly Scenario[]): Promise<NativeServer> {
    const plane = await startControlPlane({
      audit: { omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] },
      // No controller creates the service accounts of the pods.
      apiServerFlags: { 'disable-admission-plugins': 'ServiceAccount' },
    });
    const server = new NativeServer(plane, connect(loadKubeconfig({ file: plane.kubeconfig })));
    try {
      await server.#prepare(scenarios);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  async stop(): Promise<void> {
    await this.#client.close();
    await this.#plane.stop();
  }

  /** Returns all objects of a resource. */
  async list(path: string): Promise<readonly Json[]> {
    const { items, apiVersion, kind } = (await this.demand('GET', path)) as {
      items: Json[];
      apiVersion: string;
      kind: string;
    };
    return items.map((item) => ({ apiVersion, kind: kind.replace(/List$/, ''), ...item }));
  }

  /** Returns the response of the API server to a request that must succeed. */
  async demand(method: 'GET' | 'POST' | 'PUT', path: string, body?: Json): Promise<Json> {
    const { status, text } = await this.#client.request({ method, path, body });
    if (status >= 400) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as Json;
  }

  async ask(row: Row, scenario: Scenario, namespace: string): Promise<ServerAnswer> {
    const { operation = 'CREATE', object, old, subresource } = row;
    const path = objectPath((old ?? object) as Json, namespace, operation === 'CREATE' ? undefined : subresource);
    const request = {
      method: ({ CREATE: 'POST', UPDATE: 'PUT', DELETE: 'DELETE' } as const)[operation],
      path: operation === 'CREATE' ? path.slice(0, path.lastIndexOf('/')) : path,
      query: { dryRun: 'All' },
      ...(object === undefined ? {} : { body: object }),
    };
    const deadline = Date.now() + patience;
    for (;;) {
      const answer = await this.#client.request(request);
      // A new CRD takes a while to reach the mutating admission plugin, and so do the first params of a kind.
      const later = answer.status === 503 || /not yet synced|not known/.test(answer.text);
      if (!later || Date.now() > deadline) {
        const annotations = await this.#annotations(answer.headers['audit-id'] ?? '');
        return readAnswer(answer, annotations, scenario);
      }
      await sleep(200);
    }
  }

  async #annotations(audit: string): Promise<Readonly<Record<string, string>>> {
    const deadline = Date.now() + patience;
    for (;;) {
      const lines = (await readFile(String(this.#plane.auditLog), 'utf8')).split('\n');
      const line = lines.findLast((each) => each.includes(audit) && each.endsWith('}'));
      if (line !== undefined) return (JSON.parse(line) as { annotations?: Record<string, string> }).annotations ?? {};
      if (Date.now() > deadline) throw new Error(`nothing about ${audit} in the audit log`);
      await sleep(50);
    }
  }

  async #prepare(scenarios: readonly Scenario[]): Promise<void> {
    await this.demand('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', THINGS);
    await this.#until(async () => {
      const { status } = await this.#client.request({ method: 'GET', path: `/apis/${GROUP}/v1/things` });
      return status === 200;
    }, 'the custom resource is served');
    for (const [index, scenario] of scenarios.entries()) {
      for (const name of [namespaceOf(index), freeNamespaceOf(index)]) {
        const labels = scenario.labels ?? {};
        await this.demand('POST', '/api/v1/namespaces', {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name, labels },
        });
        for (const { old } of scenario.rows) if (old !== undefined) await this.#create(old, name);
      }
      for (const object of scenario.params ?? []) await this.#create(object, namespaceOf(index));
    }
    for (const [index, { policies }] of scenarios.entries()) {
      for (const policy of policies) {
        for (const object of nativeObjects(policy, namespaceOf(index))) await this.#register(object);
      }
    }
    await this.#untilInForce();
  }

  async #create(object: Json, namespace: string): Promise<void> {
    const path = objectPath(object, namespace);
    await this.demand('POST', path.slice(0, path.lastIndexOf('/')), object);
  }

  async #register(object: Json): Promise<void> {
    const kind = String(object.kind);
    const plural = kind.endsWith('Binding') ? `${kind.toLowerCase()}s` : pluralOf(kind);
    await this.demand('POST', `${REGISTRATION}/${plural}`, object);
  }

  /** Policies become active in the order in which they were written. */
  async #untilInForce(): Promise<void> {
    const namespace = 'canary';
    await this.demand('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    });
    const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];
    const expression = 'Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}';
    const canaries: readonly NativePolicy[] = [
      {
        kind: 'Mutating',
        name: 'zz-canary',
        spec: {
          matchConstraints: { resourceRules: rules },
          reinvocationPolicy: 'Never',
          mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
        },
        bindings: [{}],
      },
      {
        kind: 'Validating',
        name: 'zz-canary',
        spec: {
          matchConstraints: { resourceRules: rules },
          validations: [{ expression: "object.?metadata.?labels.?mutated.orValue('') != 'yes'", message: 'in force' }],
        },
        bindings: [{ validationActions: ['Deny'] }],
      },
    ];
    for (const canary of canaries) for (const object of nativeObjects(canary, namespace)) await this.#register(object);
    await this.#until(async () => {
      const { text } = await this.#client.request({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/configmaps`,
        query: { dryRun: 'All' },
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'canary' } },
      });
      return text.includes('in force');
    }, 'the policies are in force');
  }

  async #until(holds: () => Promise<boolean>, what: string): Promise<void> {
    const deadline = Date.now() + patience;
    while (!(await holds())) {
      if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
      await sleep(100);
    }
  }
}

export const namespaceOf = (index: number): string => `scenario-${index}`;
/** Like `namespaceOf`, without any policy. */
export const freeNamespaceOf = (index: number): string => `free-${index}`;

/** Returns the policy and its bindings, restricted to one namespace. */
export function nativeObjects({ kind, name, spec, bindings }: NativePolicy, namespace: string): readonly Json[] {
  const constraints = spec.matchConstraints as { namespaceSelector?: { matchExpressions?: readonly Json[] } };
  const here = { key: 'kubernetes.io/metadata.name', operator: 'In', values: [namespace] };
  const selector = constraints.namespaceSelector;
  const namespaceSelector = { ...selector, matchExpressions: [...(selector?.matchExpressions ?? []), here] };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  return [
    {
      apiVersion,
      kind: `${kind}AdmissionPolicy`,
      metadata: { name },
      spec: { failurePolicy: 'Fail', ...spec, matchConstraints: { ...constraints, namespaceSelector } },
    },
    ...bindings.map((binding, index) => ({
      apiVersion,
      kind: `${kind}AdmissionPolicyBinding`,
      metadata: { name: `${name}-${index}` },
      spec: { policyName: name, ...withNamespace(binding, namespace) },
    })),
  ];
}

function withNamespace(binding: Json, namespace: string): Json {
  return binding.paramRef === undefined
    ? binding
    : { ...binding, paramRef: { ...(binding.paramRef as Json), namespace } };
}

export function objectPath(object: Json, namespace: string, subresource?: string): string {
  const { apiVersion, kind, metadata } = object as { apiVersion: string; kind: string; metadata: { name: string } };
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const path = `${base}/namespaces/${namespace}/${pluralOf(kind)}/${metadata.name}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

const DENIED = /(?:ValidatingAdmissionPolicy|policy) '(.+?)' with binding '(.+?)' denied request: ([\s\S]*)$/;
const WARNED = /^Validation failed for ValidatingAdmissionPolicy '(.+?)' with binding '(.+?)': ([\s\S]*)$/;
const FAILURE = 'validation.policy.admission.k8s.io/validation_failure';

function readAnswer(
  { status, text, warnings }: { status: number; text: string; warnings: readonly string[] },
  annotations: Readonly<Record<string, string>>,
  { policies }: Scenario,
): ServerAnswer {
  const body = JSON.parse(text) as Json & { message?: string; reason?: string };
  const denied = DENIED.exec(body.message ?? '');
  if (status >= 400 && denied === null) throw new Error(`the server refused for another reason: ${text}`);
  const record = annotations[FAILURE];
  const own = Object.entries(annotations).filter(([key]) => policies.some(({ name }) => key.startsWith(`${name}/`)));
  return {
    allowed: status < 400,
    ...(denied === null ? { object: body } : { denial: { ...spoken(denied), reason: body.reason ?? '' } }),
    warnings: warnings.map((warning) => spoken(WARNED.exec(warning) ?? ['', '', '', warning])),
    ...(record === undefined ? {} : { recorded: recordedIn(record) }),
    annotations: Object.fromEntries(own),
  };
}

const spoken = ([, policy = '', binding = '', message = '']: readonly (string | undefined)[]): Spoken => ({
  policy,
  binding,
  message,
});

function recordedIn(text: string): Spoken {
  const [first] = JSON.parse(text) as [Spoken];
  return { policy: first.policy, binding: first.binding, message: first.message };
}

const GROUP = 'native.test.kidp.dev';
const THINGS: Json = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { kind: 'Thing', plural: 'things' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  plain: { type: 'array', items: { type: 'string' } },
                  tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
                  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  rules: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['port', 'protocol'],
                    items: {
                      type: 'object',
                      required: ['port'],
                      properties: {
                        port: { type: 'integer' },
                        protocol: { type: 'string', default: 'TCP' },
                        to: { type: 'string' },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};
