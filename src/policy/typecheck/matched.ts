/**
 * Determines the resource types that a policy matches, among those with a schema, and the types that it names but do
 * not exist.
 */
import { type Schema, type SchemaTypes, typesFromSchema } from '../../cel/index.ts';
import { nearest } from '../../cel/internal.ts';
import { resourceTypeText } from '../load/index.ts';
import { matchesType } from '../match/types.ts';
import type { MatchModel, PolicyModel, TypeMatch } from '../model.ts';
import { subresourceModel } from './kubernetes-schemas.ts';
import { kindKey, type SchemaKind, type SchemaSource } from './schemas.ts';

export interface MatchedType {
  /** The type as in a selector: `core/v1/Pod`, `apps/v1/Deployment/scale`. */
  readonly name: string;
  /** The types of its fields; undefined if they are not known. */
  readonly types: SchemaTypes | undefined;
}

interface MissingType {
  /** The index in the selector. */
  readonly index: number;
  readonly text: string;
  readonly suggestion: string | undefined;
}

export function matchedTypes(
  model: PolicyModel,
  schemas: SchemaSource,
): { readonly matched: readonly MatchedType[]; readonly missing: readonly MissingType[] } {
  const matched = new Map<string, MatchedType>();
  const missing: MissingType[] = [];
  const { types = [EVERYTHING] } = model.match;
  types.forEach((type, index) => {
    const fitting = schemas.kinds().filter((kind) => matchesType(type, requestType(kind, type)));
    if (fitting.length === 0)
      missing.push({ index, text: resourceTypeText(type), suggestion: suggestion(type, schemas) });
    for (const kind of fitting) {
      const found = matchedType(kind, type.subresource, schemas);
      if (!isLeftOut(model, kind, type)) matched.set(found.name, found);
    }
  });
  return { matched: [...matched.values()], missing };
}

/** `matchedKinds` returns the kinds that one type of a policy names. */
export function matchedKinds(type: TypeMatch, schemas: SchemaSource): readonly MatchedType[] {
  return schemas
    .kinds()
    .filter((kind) => matchesType(type, requestType(kind, type)))
    .map((kind) => matchedType(kind, type.subresource, schemas));
}

/** `typesOf` returns the types of a kind that expressions read by another name: params and context. */
export function typesOf(apiVersion: string, kind: string, schemas: SchemaSource): SchemaTypes | undefined {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  const schema = schemas.schema({ group, version, kind });
  return schema === undefined ? undefined : typesFor(schema, kindKey({ group, version, kind }), schemas);
}

const EVERYTHING: TypeMatch = { group: '*', version: '*', kind: '*' };

const requestType = ({ group, version, kind, plural }: SchemaKind, { subresource = '' }: TypeMatch) => ({
  group,
  version,
  kind,
  resource: plural,
  subresource: subresource === '*' ? '' : subresource,
});

function matchedType(kind: SchemaKind, subresource: string | undefined, schemas: SchemaSource): MatchedType {
  const key = kindKey(kind);
  const own = subresource === undefined || subresource === '*';
  const name = resourceTypeText({ ...kind, ...(own ? {} : { subresource }) });
  const model = own ? 'same' : subresourceModel(key, subresource);
  const schema = model === 'same' ? schemas.schema(kind) : model;
  return { name, types: schema === undefined ? undefined : typesFor(schema, key, schemas) };
}

/**
 * Reports whether a type is excluded: by the binding of a native policy, by excludeResourceRules, or by an `exclude`
 * that lists only types.
 */
function isLeftOut({ match, alsoMatch, exclude }: PolicyModel, kind: SchemaKind, by: TypeMatch): boolean {
  const request = requestType(kind, by);
  const fits = (types: readonly TypeMatch[] | undefined): boolean =>
    types?.some((type) => matchesType(type, request)) ?? false;
  if (fits(match.excludeTypes) || fits(alsoMatch?.excludeTypes)) return true;
  if (alsoMatch?.types !== undefined && !fits(alsoMatch.types)) return true;
  return exclude !== undefined && saysOnlyTypes(exclude) && fits(exclude.types);
}

const saysOnlyTypes = (match: MatchModel): boolean =>
  Object.entries(match).every(([name, value]) => name === 'types' || value === undefined);

const MADE = new WeakMap<Schema, SchemaTypes>();

function typesFor(schema: Schema, name: string, schemas: SchemaSource): SchemaTypes {
  let made = MADE.get(schema);
  if (made === undefined) {
    made = typesFromSchema(schema, {
      name,
      resource: false,
      values: 'json',
      resolve: (reference) => schemas.resolve?.(reference),
    });
    MADE.set(schema, made);
  }
  return made;
}

/** Returns the closest kind, within the named group if there is one. */
function suggestion(type: TypeMatch, schemas: SchemaSource): string | undefined {
  const all = schemas.kinds();
  const inGroup = all.filter(({ group }) => group === type.group);
  const candidates = inGroup.length > 0 ? inGroup : all;
  const sought = type.kind ?? type.resource ?? '';
  const same = candidates.filter(({ kind, plural }) => kind === sought || plural === sought);
  const near = nearest(
    sought,
    candidates.map(({ kind, plural }) => (type.kind === undefined ? plural : kind)),
  );
  const found = same[0] ?? candidates.find(({ kind, plural }) => kind === near || plural === near);
  return found === undefined ? undefined : resourceTypeText(found);
}
