/**
 * A change of a definition tried on a real API server: objects are created before it, and read, updated and applied again after it.
 * The results are returned as observed; they are not judged here.
 */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Crd, CrdSchema, Json } from '../../../src/crd-compat/index.ts';
import { preferredVersion } from '../../../src/crd-compat/internal.ts';
import type { Client } from '../../../src/runtime/index.ts';
import type { RawResponse } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';

export interface Change {
  readonly before: Json;
  readonly after: Json;
  readonly objects: readonly Json[];
  /** Content that the objects are updated to, in the same order; undefined where an object is not. */
  readonly updates?: readonly (Json | undefined)[];
  /**
   * Versions that clients read the objects through after the change and write them back, in the same order. Without it, it is the
   * preferred version if that changed.
   */
  readonly through?: readonly (string | undefined)[];
  /** Whether the objects are valid only after the change, in the same order: they are created then. */
  readonly later?: readonly boolean[];
  /** Paths that answer before the change; NAMESPACE stands for the one of the objects. */
  readonly requests?: readonly string[];
}

export interface Difference {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

export interface Seen {
  readonly object: Json;
  /** Whether it was created after the change: no object was stored before it. */
  readonly later?: boolean;
  /** Why it could not be created before the change: then it shows nothing. */
  readonly notValid?: string;
  /** It cannot be read in any version that is served: why. */
  readonly unread?: string;
  /** What is read after the change, against what was read before it. */
  readonly read: readonly Difference[];
  /** Updates of something else that were refused: what was edited, and why. */
  readonly refusedUpdates: readonly { readonly edited: string; readonly because: string }[];
  /** What is read after such an update, against what was read before the change. */
  readonly updated: readonly Difference[];
  /** Why the same manifest is refused under another name. */
  readonly refused?: string;
  /** What comes of the same manifest, against what came of it before; of an object in a new version, against what was sent. */
  readonly applied: readonly Difference[];
  /** What comes of it through another version. */
  readonly passed?: Passed;
}

interface Passed {
  readonly version: string;
  /** Why what is read there cannot be created again there. */
  readonly refused?: string;
  /** Updates that were refused there. */
  readonly refusedUpdates: Seen['refusedUpdates'];
  /** What is read in the version of the object afterwards, against before. */
  readonly lost: readonly Difference[];
}

export interface Outcome {
  /** The API server does not take the definition of before: nothing can be shown. */
  readonly notSetUp?: string;
  /** The API server refuses the change itself. */
  readonly changeRefused?: string;
  readonly seen: readonly Seen[];
  /** What the requests answered: before, and after. */
  readonly requests: readonly { readonly request: string; readonly before: string; readonly after: string }[];
}

export const storedBroken = ({ later, unread, read, refusedUpdates, updated, passed }: Seen): boolean =>
  later !== true &&
  (unread !== undefined ||
    [read, refusedUpdates, updated, passed?.refusedUpdates, passed?.lost].some((each) => (each ?? []).length > 0));

/** A manifest that is applied to an object that exists is an update of it. */
export const manifestBroken = ({ later, refused, applied, refusedUpdates, passed }: Seen): boolean =>
  refused !== undefined ||
  applied.length > 0 ||
  passed?.refused !== undefined ||
  (later === true && (passed?.refusedUpdates ?? []).length > 0) ||
  // What kubectl reads is the manifest of who edits and applies it.
  (passed?.lost ?? []).length > 0 ||
  [...refusedUpdates, ...(passed?.refusedUpdates ?? [])].some(({ edited }) => edited === ownUpdate);

const ownUpdate = 'to the update';

/**
 * A marker in every schema that shows which of the two the API server uses: a change takes a while to arrive. The name is
 * one that no definition has.
 */
const marker = 'kidpProbe';

export async function attempt(client: Client, change: Change): Promise<Outcome> {
  const stage = await Stage.open(client, change);
  try {
    const { apply, objects, requests } = stage;
    const updates = objects.map((_, index) => change.updates?.[index]);
    const before = await Promise.all(
      objects.map((object, index) => stage.create(object, updates[index], change.later?.[index])),
    );
    const answered = await Promise.all(requests.map((request) => stage.ask(request)));
    const changeRefused = await apply();
    if (changeRefused !== undefined) return { changeRefused, seen: [], requests: [] };
    const seen = await Promise.all(
      objects.map((object, index) =>
        stage.look(object, before[index] as Created, updates[index], change.through?.[index]),
      ),
    );
    const asked = await Promise.all(requests.map((request) => stage.ask(request)));
    return {
      seen,
      requests: requests.map((request, index) => ({
        request,
        before: answered[index] as string,
        after: asked[index] as string,
      })),
    };
  } finally {
    await stage.close();
  }
}

interface Edit {
  readonly path: string;
  readonly edit: (object: Json, text?: string) => Json;
}

type Created =
  | {
      readonly content: Json;
      /** Updates that were accepted before the change. */
      readonly edits: readonly Edit[];
    }
  | { readonly notValid: string }
  /** Its version is not served before the change. */
  | 'later';

interface Definition {
  metadata: { name: string };
  spec: {
    group: string;
    scope: string;
    names: { plural: string };
    conversion?: unknown;
    versions: {
      name: string;
      served: boolean;
      storage: boolean;
      schema?: { openAPIV3Schema?: CrdSchema };
      subresources?: { status?: unknown };
    }[];
  };
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const namespace = 'default';
/** Where an object is created once more under its own name. */
const elsewhere = 'kube-public';

/** The definitions under a group of their own, so that many changes can be tried at once. */
class Stage {
  readonly #client: Client;
  readonly #before: Definition;
  readonly #after: Definition;
  readonly #rename: (text: string) => string;
  readonly objects: readonly Json[];
  readonly requests: readonly string[];

  static async open(client: Client, change: Change): Promise<Stage> {
    const stage = new Stage(client, change);
    const created = await stage.#send('POST', definitions, stage.#before);
    if (created.status !== 201) throw new Error(`the definition is refused: ${messageOf(created)}`);
    await stage.#inEffect(stage.#before, 'before');
    return stage;
  }

  constructor(client: Client, { before, after, objects, requests = [] }: Change) {
    this.#client = client;
    const original = (before as unknown as Definition).spec.group;
    const own = `t${randomBytes(4).toString('hex')}.${original}`;
    this.#rename = (text) => text.replaceAll(original, own);
    const renamed = <T>(value: T): T => JSON.parse(this.#rename(JSON.stringify(value))) as T;
    this.#before = marked(renamed(before as unknown as Definition), 'before');
    this.#after = marked(renamed(after as unknown as Definition), 'after');
    this.objects = objects.map((object) => ({ ...object, apiVersion: this.#rename(String(object.apiVersion)) }));
    this.requests = requests.map((request) => this.#rename(request).replace('NAMESPACE', namespace));
  }

  /** Makes the change; why it is refused. */
  readonly apply = async (): Promise<string | undefined> => {
    const path = `${definitions}/${this.#before.metadata.name}`;
    const changed = await eventually(async () => {
      const current = JSON.parse((await this.#send('GET', path)).text) as Definition;
      const response = await this.#send('PUT', path, {
        ...current,
        metadata: { ...current.metadata, name: this.#after.metadata.name },
        spec: this.#after.spec,
      });
      // Its conditions are written meanwhile.
      return response.status === 409 ? false : response;
    });
    if (changed.status !== 200) return messageOf(changed);
    await this.#inEffect(this.#after, 'after');
    return undefined;
  };

  async create(object: Json, update: Json | undefined, later = false): Promise<Created> {
    if (later || !this.#serves(this.#before, object)) return 'later';
    const response = await this.#send('POST', this.#collection(object), object, { fieldValidation: 'Strict' });
    if (response.status !== 201) return { notValid: messageOf(response) };
    const written = await this.#writeStatus(object, this.#before);
    if (written !== undefined && written.status !== 200) return { notValid: messageOf(written) };
    const read = await this.#send('GET', this.#one(object));
    const stored = JSON.parse(read.text) as Json;
    const tried = update === undefined ? undefined : await this.#update(object, update, { dryRun: 'All' });
    if (tried !== undefined && tried.status !== 200) return { notValid: `the update: ${messageOf(tried)}` };
    return { content: contentOf(read), edits: await this.#accepted(object, stored, this.#editsOf(stored)) };
  }

  #editsOf(object: Json): Edit[] {
    const schema = this.#schemaBefore(object);
    return schema === undefined ? [] : edits(object, schema);
  }

  /** Replaces the content of an object, through /status if that is what differs and is a subresource. */
  async #update(object: Json, update: Json, query: Readonly<Record<string, string>> = {}): Promise<RawResponse> {
    const ofStatus = this.#hasStatus(object, this.#before) && !isDeepStrictEqual(object.status, update.status);
    return eventually(async () => {
      const { apiVersion, kind, metadata } = JSON.parse((await this.#send('GET', this.#one(object))).text) as Json;
      const { apiVersion: _version, kind: _kind, metadata: _metadata, ...content } = update;
      const path = `${this.#one(object)}${ofStatus ? '/status' : ''}`;
      const put = await this.#send('PUT', path, { apiVersion, kind, metadata, ...content }, query);
      return put.status === 409 ? false : put;
    });
  }

  async look(object: Json, created: Created, update: Json | undefined, through: string | undefined): Promise<Seen> {
    const version = this.#serves(this.#after, object) ? (through ?? this.#newPreference()) : undefined;
    // Before anything is edited.
    const isThere = typeof created === 'object' && 'content' in created;
    const again = isThere && version !== undefined ? await this.#applyThrough(object, version) : undefined;
    const seen = await this.#lookIn(object, created, update);
    if (version === undefined || seen.notValid !== undefined || seen.unread !== undefined) return seen;
    const { status, text } = again ?? (await this.#applyThrough(object, version));
    const passed = await this.#pass(object, version, update, isThere ? created.edits : await this.#editsLater(object));
    return { ...seen, passed: { ...passed, ...(status < 300 ? {} : { refused: text }) } };
  }

  /** An object of a version that is new. */
  async #createLater(object: Json): Promise<Seen> {
    const nothing = { object, later: true, read: [], refusedUpdates: [], updated: [], applied: [] };
    const response = await this.#send('POST', this.#collection(object), object, { fieldValidation: 'Strict' });
    if (response.status !== 201) return { ...nothing, notValid: messageOf(response) };
    const read = await this.#send('GET', this.#one(object));
    const { apiVersion: _version, kind: _kind, metadata: _metadata, ...sent } = object;
    return { ...nothing, applied: compare(sent, contentOf(read), () => false) };
  }

  /** The updates of an object of a version that is new, which its own version accepts. */
  async #editsLater(object: Json): Promise<readonly Edit[]> {
    const stored = JSON.parse((await this.#send('GET', this.#one(object))).text) as Json;
    const schema = schemaIn(this.#after, object);
    return this.#accepted(object, stored, schema === undefined ? [] : edits(stored, schema));
  }

  async #accepted(object: Json, stored: Json, tried: readonly Edit[]): Promise<readonly Edit[]> {
    const fair = await Promise.all(
      tried.map(async (each) => {
        const put = await this.#send('PUT', this.#one(object), each.edit(stored), { dryRun: 'All' });
        return put.status === 200 ? [each] : [];
      }),
    );
    return fair.flat();
  }

  /** Applies what is read of the object through another version. */
  async #applyThrough(object: Json, version: string): Promise<{ status: number; text: string }> {
    const there = { ...object, apiVersion: `${this.#after.spec.group}/${version}` };
    const read = JSON.parse((await this.#send('GET', this.#one(there))).text) as Json;
    const isNamespaced = this.#before.spec.scope === 'Namespaced';
    const hasOwnStatus = read.status !== undefined && this.#hasStatus(there, this.#after);
    const name = isNamespaced && !hasOwnStatus ? nameOf(object) : `${nameOf(object)}-there`;
    const metadata = { name, ...(isNamespaced ? { namespace: elsewhere } : {}) };
    const again = await this.#applyAgain({ ...read, metadata });
    return { status: again.status, text: messageOf(again) };
  }

  /** Reads the object through another version, and writes it back there. */
  async #pass(object: Json, version: string, update: Json | undefined, edits: readonly Edit[]): Promise<Passed> {
    const there = { ...object, apiVersion: `${this.#after.spec.group}/${version}` };
    const base = contentOf(await this.#send('GET', this.#one(object)));
    const refusedUpdates: { edited: string; because: string }[] = [];
    if (update !== undefined) {
      const put = await this.#update(there, update, { dryRun: 'All' });
      if (put.status !== 200) refusedUpdates.push({ edited: ownUpdate, because: messageOf(put) });
    }
    for (const { path, edit } of [{ path: 'nothing', edit: (current: Json) => current }, ...edits]) {
      const put = await this.#replace(there, (current) => edit(current, touchedThere));
      if (put.status !== 200) refusedUpdates.push({ edited: path, because: messageOf(put) });
    }
    return {
      version,
      refusedUpdates,
      lost: compare(base, contentOf(await this.#send('GET', this.#one(object))), () => false),
    };
  }

  /** Reads an object, edits it and writes it back. */
  #replace(object: Json, edit: (current: Json) => Json): Promise<RawResponse> {
    const one = this.#one(object);
    return eventually(async () => {
      const put = await this.#send('PUT', one, edit(JSON.parse((await this.#send('GET', one)).text) as Json));
      return put.status === 409 ? false : put;
    });
  }

  #serves({ spec }: Definition, object: Json): boolean {
    return spec.versions.some(({ name, served }) => served && `${spec.group}/${name}` === object.apiVersion);
  }

  /** The preferred version, if another one was preferred before the change and both convert without a webhook. */
  #newPreference(): string | undefined {
    const [old, now] = [this.#before, this.#after].map((each) => preferredVersion(each as unknown as Crd)?.name);
    return old === now ? undefined : now;
  }

  async #lookIn(object: Json, created: Created, update: Json | undefined): Promise<Seen> {
    const nothing = { object, read: [], refusedUpdates: [], updated: [], applied: [] };
    if (created === 'later') return this.#createLater(object);
    if ('notValid' in created) return { ...nothing, notValid: created.notValid };
    const isKnown = this.#knownBefore(object);
    const differences = (content: Json) => compare(created.content, content, isKnown);
    // What is asked of names is asked of the same name.
    const isNamespaced = this.#before.spec.scope === 'Namespaced';
    const place = isNamespaced ? { namespace: elsewhere } : { name: `${nameOf(object)}-again` };
    const manifest = { ...object, metadata: { ...(object.metadata as Json), ...place } };
    const again = await this.#applyAgain(manifest);
    // A field that was not kept before, and is now, is as the manifest says.
    const isMeant = ({ path, after }: Difference) => isDeepStrictEqual(valueAt(object, path.split('.')), after);
    const applied =
      again.status < 300
        ? { applied: differences(contentOf(again)).filter((each) => each.before !== undefined || !isMeant(each)) }
        : { refused: messageOf(again) };
    // The object is there in every version that is served; a request for another version shows as `refused`.
    const there = { ...object, apiVersion: this.#servedAfter(object) };
    const one = this.#one(there);
    const first = await this.#send('GET', one);
    if (first.status !== 200) return { ...nothing, ...applied, unread: messageOf(first) };
    const read = differences(contentOf(first));
    const refusedUpdates: { edited: string; because: string }[] = [];
    if (update !== undefined) {
      const put = await this.#update(object, update, { dryRun: 'All' });
      if (put.status !== 200) refusedUpdates.push({ edited: ownUpdate, because: messageOf(put) });
    }
    for (const { path, edit } of created.edits) {
      const response = await this.#replace(there, edit);
      if (response.status !== 200) refusedUpdates.push({ edited: path, because: messageOf(response) });
    }
    const last = await this.#send('GET', one);
    const after = last.status === 200 ? differences(contentOf(last)) : [{ path: '', before: 'readable' }];
    // In another version than its own an object has that version's defaults, with and without the change.
    const isOwn = this.#servedAfter(object) === object.apiVersion;
    const updated = isOwn ? after : after.filter((each) => each.before !== undefined);
    return { ...nothing, ...applied, read, refusedUpdates, updated };
  }

  /** With its status, where that is a subresource which a controller writes. */
  async #applyAgain(manifest: Json): Promise<RawResponse> {
    const hasOwnStatus = manifest.status !== undefined && this.#hasStatus(manifest, this.#after);
    const query = hasOwnStatus ? {} : { dryRun: 'All' };
    const created = await this.#send('POST', this.#collection(manifest), manifest, query);
    if (created.status !== 201) return created;
    return (await this.#writeStatus(manifest, this.#after)) ?? created;
  }

  async #writeStatus(object: Json, definition: Definition): Promise<RawResponse | undefined> {
    if (object.status === undefined || !this.#hasStatus(object, definition)) return undefined;
    const current = JSON.parse((await this.#send('GET', this.#one(object))).text) as Json;
    return this.#send('PUT', `${this.#one(object)}/status`, { ...current, status: object.status });
  }

  #hasStatus(object: Json, { spec }: Definition): boolean {
    const version = spec.versions.find(({ name }) => `${spec.group}/${name}` === object.apiVersion);
    return version?.subresources?.status !== undefined;
  }

  #servedAfter(object: Json): string {
    const { group, versions } = this.#after.spec;
    const served = versions.filter((version) => version.served).map(({ name }) => `${group}/${name}`);
    return served.find((each) => each === object.apiVersion) ?? served[0] ?? String(object.apiVersion);
  }

  /** The status and, where it is no list, what matters in the answer. */
  async ask(request: string): Promise<string> {
    const [path = '', query = ''] = request.split('?');
    const response = await this.#send('GET', path, undefined, Object.fromEntries(new URLSearchParams(query)));
    if (response.status !== 200) return String(response.status);
    const { spec } = JSON.parse(response.text) as { spec?: unknown };
    return `200 ${JSON.stringify(spec ?? {})}`;
  }

  async close(): Promise<void> {
    await this.#send('DELETE', `${definitions}/${this.#before.metadata.name}`);
  }

  #collection(object: Json): string {
    const { scope, names } = this.#before.spec;
    const { namespace: own = namespace } = object.metadata as { readonly namespace?: string };
    const place = scope === 'Namespaced' ? `/namespaces/${own}` : '';
    return `/apis/${object.apiVersion}${place}/${names.plural}`;
  }

  #one(object: Json): string {
    return `${this.#collection(object)}/${nameOf(object)}`;
  }

  /** Whether the schema of before has a field there: what a new field is set to is not a change of what was there. */
  #knownBefore(object: Json): (path: readonly string[]) => boolean {
    const schema = this.#schemaBefore(object);
    return (path) => schema === undefined || knows(schema, path);
  }

  #schemaBefore(object: Json): CrdSchema | undefined {
    return schemaIn(this.#before, object);
  }

  async #inEffect(definition: Definition, which: 'before' | 'after'): Promise<void> {
    const served = this.#before.spec.versions.filter(
      ({ name }) => definition.spec.versions.find((each) => each.name === name)?.served === true,
    );
    const version = served[0]?.name ?? definition.spec.versions.find((each) => each.served)?.name;
    const probe = {
      apiVersion: `${definition.spec.group}/${version}`,
      kind: kindOf(definition),
      metadata: { name: 'probe' },
      [marker]: 'neither',
    };
    await eventually(
      async () => {
        const response = await this.#send('POST', this.#collection(probe), probe, { dryRun: 'All' });
        return messageOf(response).includes(`${marker}: Unsupported value: "neither": supported values: "${which}"`);
      },
      { within: 180_000, every: 100 },
    );
  }

  #send(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    query: Readonly<Record<string, string>> = {},
  ): Promise<RawResponse> {
    return this.#client.request({ method, path, query, ...(body === undefined ? {} : { body }) });
  }
}

function schemaIn({ spec }: Definition, object: Json): CrdSchema | undefined {
  const name = String(object.apiVersion).split('/')[1];
  return spec.versions.find((each) => each.name === name)?.schema?.openAPIV3Schema;
}

const nameOf = (object: Json): string => String((object.metadata as Json).name);

const kindOf = (definition: Definition): string => (definition.spec.names as unknown as { kind: string }).kind;

function marked(definition: Definition, which: string): Definition {
  for (const version of definition.spec.versions) {
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined) continue;
    version.schema = {
      openAPIV3Schema: {
        ...schema,
        properties: { ...schema.properties, [marker]: { type: 'string', enum: [which] } },
      },
    };
  }
  return definition;
}

function messageOf(response: RawResponse): string {
  try {
    return String((JSON.parse(response.text) as { message?: unknown }).message ?? response.status);
  } catch {
    return `${response.status} ${response.text}`;
  }
}

/** Without what a server adds, and without the version: the same object may be asked for in another. */
function contentOf(response: RawResponse): Json {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...content } = JSON.parse(response.text) as Json;
  return content;
}

const touched = 'touched by an update';
const touchedThere = 'touched by an update through another version';

/**
 * Updates of something that the change has nothing to do with: a label, and the note of every object within that has one by its schema.
 * Not those within lists, where an update of one item is one of the list.
 */
function edits(object: Json, schema: CrdSchema): Edit[] {
  const label = (current: Json): Json => ({
    ...current,
    metadata: { ...(current.metadata as Json), labels: { touched: 'yes' } },
  });
  const found: Edit[] = [{ path: 'metadata.labels', edit: label }];
  const walk = (value: unknown, at: CrdSchema, path: readonly string[]): void => {
    if (!isObject(value)) return;
    if (at.properties?.note?.type === 'string' && (value.note === undefined || typeof value.note === 'string'))
      found.push({
        path: [...path, 'note'].join('.'),
        edit: (current, text = touched) => replaced(current, [...path, 'note'], text),
      });
    for (const [key, child] of Object.entries(value)) {
      const values = typeof at.additionalProperties === 'object' ? at.additionalProperties : undefined;
      const next = at.properties?.[key] ?? values;
      if (next !== undefined) walk(child, next, [...path, key]);
    }
  };
  walk(object, schema, []);
  return found;
}

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Json | undefined)?.[key], value);

function replaced(value: unknown, [key, ...rest]: readonly string[], text: string): Json {
  const object = value as Json;
  if (key === undefined) return object;
  return { ...object, [key]: rest.length === 0 ? text : replaced(object[key], rest, text) };
}

/** Notes aside: those are edited. A field that is new counts where the schema of before had it. */
function compare(before: Json, after: Json, isKnown: (path: readonly string[]) => boolean): Difference[] {
  const found: Difference[] = [];
  const walk = (left: unknown, right: unknown, path: readonly string[]): void => {
    if (isDeepStrictEqual(left, right) || right === touched || right === touchedThere) return;
    if (isObject(left) && isObject(right)) {
      for (const key of new Set([...Object.keys(left), ...Object.keys(right)]))
        walk(left[key], right[key], [...path, key]);
      return;
    }
    if (Array.isArray(left) && Array.isArray(right) && left.length === right.length) {
      for (const [index, item] of left.entries()) walk(item, right[index], [...path, String(index)]);
      return;
    }
    if (left === undefined && !isKnown(path)) return;
    found.push({ path: path.join('.'), before: left, after: right });
  };
  walk(before, after, []);
  return found;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function knows(schema: CrdSchema, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return true;
  const own = schema.properties?.[key];
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  const next = own ?? (schema.type === 'array' ? schema.items : values);
  return next === undefined ? schema['x-kubernetes-preserve-unknown-fields'] === true : knows(next, rest);
}
