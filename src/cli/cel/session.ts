/**
 * What the expressions of one command may refer to: an environment and the values of its variables, from the files and
 * words of the command line. The variables are those of Kubernetes' policies, and what `--var` adds.
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

/** The variables that a schema types. */
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

  /** Made when it is first asked for: what has been compiled before needs none. */
  get environment(): Environment {
    this.#environment ??= environment(this.#name, {
      variables: Object.fromEntries([...this.#variables].map(([name, { type }]) => [name, type])),
      types: this.#schema === undefined ? [] : [this.#schema.provider],
    });
    return this.#environment;
  }

  /** The names of the variables decide what an expression means here: their types follow from them. */
  get names(): readonly string[] {
    return [...this.#variables.keys()];
  }

  compile(expression: string): Compiled | Rejected {
    return compile(expression, this.environment);
  }

  /** Created for each evaluation, because an evaluation writes its position into an error. */
  values(): Readonly<Record<string, Result>> {
    const values = [...this.#variables].map(([name, { value }]) => [
      name,
      value instanceof CelError ? new CelError(value.code, value.message) : value,
    ]);
    return Object.fromEntries(values);
  }

  /** This session and values of a host, typed by the schema where it has a say. */
  with(values: JsonMap): Session {
    const more = Object.entries(values).map(([name, value]) => [name, this.#typed(name, value)] as const);
    return new Session(this.#name, this.#schema, new Map([...this.#variables, ...more]));
  }

  /** This session and a variable whose type an expression has given. */
  declare(name: string, type: Type, value: Value): Session {
    return new Session(this.#name, this.#schema, new Map([...this.#variables, [name, { type, value }]]));
  }

  #typed(name: string, value: Value): Variable {
    if (this.#schema === undefined || !TYPED.includes(name)) return { type: types.DYN, value };
    // No object before or after: a policy finds null there, whatever the schema says of objects.
    return { type: this.#schema.type, value: value === null ? null : valueBySchema(value, this.#schema) };
  }
}

/** Reads what the command line names. Throws an InputError for what cannot be used. */
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
    throw new InputError('schema', `${name} is not as the schema says: ${value.message}. Correct one of the two.`);
  }
  return session;
}

/** Stands where an expression asks for an object that nobody gave: only one that does ask must fail. */
const missingObject = (): CelError => new CelError('host', 'there is no object: give one with -f');

/** Declared, so that an expression of a policy can be checked; there is no cluster here to ask. */
function authorizers(): readonly (readonly [string, Variable])[] {
  const value = new CelError('host', 'there is no cluster to ask what the user may do: authorizer has no value here');
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
    throw new InputError('variable', `--var ${name}: ${error.message}. Give its value as JSON: a text in quotes.`);
  }
}

/** The request as far as the objects determine it; `--var request=…` replaces it. */
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
