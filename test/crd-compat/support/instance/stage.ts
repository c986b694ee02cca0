/** Many schemas on the real API server at once: each is one field of one definition, and each object fills one of the fields. */
import { randomBytes } from 'node:crypto';
import type { CrdSchema, Json } from '../../../../src/crd-compat/index.ts';
import type { Client } from '../../../../src/runtime/index.ts';
import type { RawResponse } from '../../../../src/runtime/internal.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';

export interface Answer {
  readonly accepted: boolean;
  readonly message: string;
  readonly object: Json;
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export class Stage {
  readonly kind: string;
  readonly #plural: string;
  readonly #group = 'instances.test.example.com';
  readonly #client: Client;
  #round = 0;
  schema: CrdSchema = {};

  constructor(client: Client) {
    this.#client = client;
    const name = randomBytes(4).toString('hex');
    this.kind = `Case${name}`;
    this.#plural = `case${name}s`;
  }

  get apiVersion(): string {
    return `${this.#group}/v1`;
  }

  get #definition(): string {
    return `${DEFINITIONS}/${this.#plural}.${this.#group}`;
  }

  get #objects(): string {
    return `/apis/${this.#group}/v1/${this.#plural}`;
  }

  /**
   * Serves the definition with these fields under `spec`, and returns once it does. Fields whose schemas the API server does not take
   * are left out; it says which were.
   */
  async serve(fields: Readonly<Record<string, CrdSchema>>): Promise<readonly string[]> {
    const kept: Record<string, CrdSchema> = { ...fields };
    const left: string[] = [];
    for (;;) {
      const response = await this.#write(kept);
      if (response.status < 300) break;
      const message = String(JSON.parse(response.text).message);
      const wrong = [...message.matchAll(/properties\[spec\]\.properties\[(\w+)\]/g)].map(
        (match) => match[1] as string,
      );
      const known = wrong.filter((name) => Object.hasOwn(kept, name));
      if (known.length === 0) throw new Error(`the definition is refused: ${message}`);
      for (const name of new Set(known)) {
        delete kept[name];
        left.push(`${name}: ${message.slice(0, 300)}`);
      }
    }
    await this.#served();
    return left;
  }

  /** A marker in every schema that differs per round: it shows when the API server uses the new schema. */
  #marker(): string {
    return `round${this.#round}`;
  }

  async #write(fields: Readonly<Record<string, CrdSchema>>): Promise<RawResponse> {
    this.#round++;
    this.schema = {
      type: 'object',
      properties: {
        probe: { type: 'string', enum: [this.#marker()] },
        spec: { type: 'object', properties: fields },
      },
    };
    const names = { kind: this.kind, plural: this.#plural };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: this.schema } }];
    const spec = { group: this.#group, names, scope: 'Cluster', versions };
    const metadata = { name: `${this.#plural}.${this.#group}` };
    const body = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata, spec };
    const there = await this.#client.request({ method: 'GET', path: this.#definition });
    if (there.status === 404) return this.#client.request({ method: 'POST', path: DEFINITIONS, body });
    const { resourceVersion } = this.#object(there).metadata as { resourceVersion: string };
    const next = { ...body, metadata: { ...metadata, resourceVersion } };
    return this.#client.request({ method: 'PUT', path: this.#definition, body: next });
  }

  async #served(): Promise<void> {
    let consecutive = 0;
    await eventually(async () => {
      const taken = await this.create('probe', {}, { probe: this.#marker() });
      const refused = await this.create('probe', {}, { probe: 'other' });
      consecutive = taken.accepted && !refused.accepted ? consecutive + 1 : 0;
      return consecutive >= 2;
    });
  }

  object(name: string, spec: unknown, more: object = {}): Json {
    return { apiVersion: this.apiVersion, kind: this.kind, metadata: { name }, spec, ...more };
  }

  /** As a dry run: nothing is stored. */
  create(name: string, spec: unknown, more: object = {}): Promise<Answer> {
    return this.#send('POST', this.#objects, this.object(name, spec, more), true);
  }

  store(name: string, spec: unknown): Promise<Answer> {
    return this.#send('POST', this.#objects, this.object(name, spec), false);
  }

  /** undefined where it cannot be read, though it is there. */
  async read(name: string): Promise<Json | undefined> {
    const response = await this.#client.request({ method: 'GET', path: `${this.#objects}/${name}` });
    return response.status >= 300 ? undefined : this.#object(response);
  }

  /** As a dry run. */
  update(name: string, object: Json): Promise<Answer> {
    return this.#send('PUT', `${this.#objects}/${name}`, object, true);
  }

  async #send(method: 'POST' | 'PUT', path: string, body: Json, dryRun: boolean): Promise<Answer> {
    const query = { fieldValidation: 'Ignore', ...(dryRun ? { dryRun: 'All' } : {}) };
    const response = await this.#client.request({ method, path, body, query });
    const accepted = response.status < 300;
    if (accepted) return { accepted, message: '', object: this.#object(response) };
    const message = response.text.slice(0, 1000);
    if (response.status !== 422 && response.status !== 400 && response.status !== 404)
      throw new Error(`${method} ${path}: ${message}`);
    return { accepted, message, object: {} };
  }

  #object(response: RawResponse): Json {
    return JSON.parse(response.text) as Json;
  }

  async close(): Promise<void> {
    await this.#client.request({ method: 'DELETE', path: this.#definition });
  }
}
