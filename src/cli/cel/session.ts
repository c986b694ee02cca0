/**
 * A session is the context of the expressions of one command: an environment and the values of its variables, from the
 * files and flags of the command line. The variables are those of Kubernetes policies and those that `--var` adds.
 */
import {
  CelError,
  type Compiled,
  compile,
  DecodeError,
  decodeJson,
  type Environment,
  type EnvironmentName,
  environment,
  isMap,
  type JsonMap,
  type Rejected,
  type Result,
  type SchemaTypes,
  type SizeBounds,
  type Type,
  types,
  type Value,
} from '../../cel/index.ts';
import { valueBySchema } from '../../cel/internal.ts';
import { InputError } from '../common/failure.ts';
import { readSchema } from './schema.ts';
import { readValue } from './values.ts';

export interface CelOptions {
  environment: EnvironmentName;
  output: 'text' | 'json';
  filename?: string;
  old?: string;
  params?: string;
  var?: Readonly<Record<string, string>>;
  schema?: string;
  schemaVersion?: string;
}

export interface CelStreams {
  in: NodeJS.ReadableStream;
  out: NodeJS.WritableStream;
  err: { write(text: string): unknown };
}

interface Variable {
  readonly type: Type;
  readonly value: Result;
}

/** The variables that get their type from the schema. */
const TYPED: readonly string[] = ['object', 'oldObject'];

export class Session {
  readonly bounds: SizeBounds;
  readonly #name: EnvironmentName;
  readonly #schema: SchemaTypes | undefined;
  readonly #variables: ReadonlyMap<string, Variable>;
  #environment: Environment | undefined;

  constructor(name: EnvironmentName, schema: SchemaTypes | undefined, variables: ReadonlyMap<string, Variable>) {
    this.#name = name;
    this.#schema = schema;
    this.#variables = variables;
    this.bounds = (path) => (TYPED.includes(path[0] ?? '') ? this.#schema?.bounds(path[0] as string)(path) : undefined);
  }

  /** The environment, created on first use: expressions that are already compiled do not need it. */
  get environment(): Environment {
    this.#environment ??= environment(this.#name, {
      variables: Object.fromEntries([...this.#variables].map(([name, { type }]) => [name, type])),
      types: this.#schema === undefined ? [] : [this.#schema.provider],
    });
    return this.#environment;
  }

  /** The names of the variables. They determine how an expression compiles, because the types follow from the names. */
  get names(): readonly string[] {
    return [...this.#variables.keys()];
  }

  compile(expression: string): Compiled | Rejected {
    return compile(expression, this.environment);
  }

  /** Returns new values for each evaluation, because an evaluation writes its position into an error. */
  values(): Readonly<Record<string, Result>> {
    const values = [...this.#variables].map(([name, { value }]) => [
      name,
      value instanceof CelError ? new CelError(value.code, value.message) : value,
    ]);
    return Object.fromEntries(values);
  }

  /** Returns this session with more values; `object` and `oldObject` are typed by the schema. */
  with(values: JsonMap): Session {
    const more = Object.entries(values).map(([name, value]) => [name, this.#typed(name, value)] as const);
    return new Session(this.#name, this.#schema, new Map([...this.#variables, ...more]));
  }

  /** Returns this session with a variable that has the type of an expression. */
  declare(name: string, type: Type, value: Value): Session {
    return new Session(this.#name, this.#schema, new Map([...this.#variables, [name, { type, value }]]));
  }

  #typed(name: string, value: Value): Variable {
    if (this.#schema === undefined || !TYPED.includes(name)) return { type: types.DYN, value };
    // Without an old or new object, a policy sees null, even if the schema is not nullable.
    return { type: this.#schema.type, value: value === null ? null : valueBySchema(value, this.#schema) };
  }
}

/** `openSession` reads the files and variables of the command line. It throws an InputError for invalid input. */
export async function openSession(options: CelOptions, streams: Pick<CelStreams, 'in'>): Promise<Session> {
  const schema = options.schema === undefined ? undefined : readSchema(options.schema, options.schemaVersion);
  const given: Record<string, Value> = {};
  for (const [name, path] of [
    ['object', options.filename],
    ['oldObject', options.old],
    ['params', options.params],
  ] as const) {
    if (path !== undefined) given[name] = await readValue(path, streams.in);
  }
  for (const [name, text] of Object.entries(options.var ?? {})) given[name] = parseVariable(name, text);
  const deleted = given.object === undefined && given.oldObject !== undefined;
  const object = { type: schema?.type ?? types.DYN, value: deleted ? null : missingObject() };
  const session = new Session(options.environment, schema, new Map([['object', object], ...authorizers()]))
    .with({ oldObject: null, params: null, namespaceObject: null, request: requestFor(given.object, given.oldObject) })
    .with(given);
  for (const name of Object.keys(given)) {
    const value = session.values()[name];
    if (!(value instanceof CelError)) continue;
    throw new InputError('schema', `${name} does not match the schema: ${value.message}. Correct one of the two.`);
  }
  return session;
}

/** `missingObject` is the value of `object` if none was given: only expressions that use it fail. */
const missingObject = (): CelError => new CelError('host', 'there is no object: set one with -f');

/** `authorizers` declares the authorizer variables, so that policy expressions type-check; without a cluster they fail. */
function authorizers(): readonly (readonly [string, Variable])[] {
  const value = new CelError('host', 'authorizer has no value: there is no cluster to check permissions');
  return [
    ['authorizer', { type: types.object('kubernetes.authorization.Authorizer'), value }],
    ['authorizer.requestResource', { type: types.object('kubernetes.authorization.ResourceCheck'), value }],
  ];
}

function parseVariable(name: string, text: string): Value {
  try {
    return decodeJson(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new InputError('variable', `--var ${name}: ${error.message}. Set its value as JSON, with strings in quotes.`);
  }
}

/** `requestFor` derives the request from the objects as far as possible; `--var request=…` replaces it. */
function requestFor(object: Value | undefined, oldObject: Value | undefined): Value {
  const subject = object ?? oldObject;
  if (subject === undefined || !isMap(subject)) return null;
  const { apiVersion, kind, metadata } = subject as JsonMap;
  const [version = '', group = ''] = String(apiVersion ?? '')
    .split('/')
    .reverse();
  const text = (name: string): Value => (metadata as JsonMap | undefined)?.[name] ?? '';
  return {
    operation: requestOperation(object, oldObject),
    kind: { group, version, kind: kind ?? '' },
    name: text('name'),
    namespace: text('namespace'),
    dryRun: true,
  };
}

function requestOperation(object: Value | undefined, oldObject: Value | undefined): string {
  if (oldObject === undefined) return 'CREATE';
  return object === undefined ? 'DELETE' : 'UPDATE';
}
