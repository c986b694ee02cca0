/** The known CRDs: those in the charts of operator versions, and those registered over the API. */
import { createHash } from 'node:crypto';
import {
  API_VERSION,
  type CrdRevision,
  crdRevision,
  type Operator,
  operator as operatorKind,
  packDefinition,
  REGISTERED_LABEL,
  revisionLabelOf,
  revisionName,
  sameVersion,
  unpackRevision,
} from '../api/index.ts';
import { type Crd, compareCrds, readCrd, type Verdict } from '../crd-compat/index.ts';
import { compareVersions } from '../fleet/index.ts';
import type { Client, KubernetesObject, Resource, UnknownObject } from '../runtime/index.ts';
import { Problem } from '../runtime/internal.ts';
import { all } from './objects.ts';
import { unavailable } from './problems.ts';
import type { Call } from './route.ts';

interface DefinitionParts {
  /** Client with the platform's own identity, so that users cannot forge registered CRDs. */
  readonly client: Client;
  /** Loads CRDs from the store of the platform by `definitionsRef`. */
  readonly stored: (reference: string) => Promise<readonly UnknownObject[]>;
  /** Compares in a separate thread, so that other requests are not blocked. Default: in this thread. */
  readonly compare?: ((before: Crd, after: Crd, signal: AbortSignal) => Promise<Verdict>) | undefined;
  readonly onValidated?: (() => void) | undefined;
}

interface DefinitionVersion {
  readonly operator: string;
  readonly version: string;
  readonly digest: string;
  readonly served?: readonly string[];
  readonly compatibility?: 'safe' | 'risky' | 'breaking';
  readonly registered: boolean;
}

/** `Known` is a CRD that a change can be compared with. */
export interface Known {
  readonly operator: string;
  readonly version: string;
  load(): Promise<Crd>;
}

export interface KnownDefinitions {
  versions(call: Call, name: string): Promise<readonly DefinitionVersion[]>;
  newest(call: Call, name: string, which: { operator?: string; version?: string }): Promise<Known | undefined>;
  registered(call: Call, name?: string): Promise<readonly CrdRevision[]>;
  register(call: Call, owner: Operator, version: string, crd: Crd): Promise<CrdRevision>;
  compare(before: Crd, after: Crd, signal: AbortSignal): Promise<Verdict>;
  /** Called after each validated CRD. */
  readonly onValidated: () => void;
}

/** Limits of registered CRDs: per name, and in total. */
const keptOfOne = 10;
const mostInAll = 500;

export function knownDefinitions({ client, stored, compare, onValidated }: DefinitionParts): KnownDefinitions {
  const registered = async (call: Call, name?: string): Promise<readonly CrdRevision[]> => {
    const ofName = name === undefined ? '' : `=${revisionLabelOf(name)}`;
    const found = await all<CrdRevision>(call, crdRevision, `${REGISTERED_LABEL}${ofName}`);
    return found
      .filter(({ spec }) => spec.registered !== undefined && (name === undefined || spec.crd.name === name))
      .sort((one, other) => other.spec.sequence - one.spec.sequence);
  };
  return {
    registered,
    async versions(call, name) {
      const [operators, sent] = await Promise.all([all<Operator>(call, operatorKind), registered(call, name)]);
      return operators.flatMap((each) => versionsOf(each, name, sent));
    },
    async newest(call, name, which) {
      const [operators, sent] = await Promise.all([all<Operator>(call, operatorKind), registered(call, name)]);
      const [newest] = [...ofCharts(operators, name, stored), ...ofCallers(sent, name)]
        .filter(
          ({ operator, version }) =>
            (which.operator === undefined || which.operator === operator) &&
            (which.version === undefined || sameVersion(which.version, version)),
        )
        .sort(newestFirst);
      return newest;
    },
    async register(call, owner, version, crd) {
      await demandRight(call);
      const inAll = await registered(call);
      if (inAll.length >= mostInAll) {
        throw new Problem(
          409,
          'too-many',
          `the maximum of ${mostInAll} registered CRDs is reached: delete CRDRevisions that are not needed`,
        );
      }
      const before = inAll.filter(({ spec }) => spec.crd.name === crd.metadata.name);
      const made = await client.create<CrdRevision>(
        crdRevision.resource,
        revisionOf(call, owner, version, crd, before),
        {
          fieldManager: 'kidp-rest',
        },
      );
      for (const { metadata } of before.slice(keptOfOne - 1)) {
        await client.delete(crdRevision.resource, { name: metadata.name }).catch(() => {});
      }
      return made;
    },
    compare: compare ?? (async (before, after) => compareCrds(before, after)),
    onValidated: onValidated ?? (() => {}),
  };
}

/** Sorts by version. The sort is stable: for equal versions the chart comes first, then the latest registration. */
const newestFirst = (one: { readonly version: string }, other: { readonly version: string }): number =>
  compareVersions(other.version, one.version);

function ofCharts(operators: readonly Operator[], name: string, stored: DefinitionParts['stored']): Known[] {
  return operators.flatMap(({ metadata, status }) =>
    (status?.versions ?? []).flatMap(({ version, definitions = [], definitionsRef }) =>
      definitionsRef === undefined || !definitions.some((each) => each.name === name)
        ? []
        : [{ operator: metadata.name, version, load: async () => definitionIn(await stored(definitionsRef), name) }],
    ),
  );
}

const ofCallers = (sent: readonly CrdRevision[], name: string): Known[] =>
  sent.flatMap((revision) => {
    const { registered } = revision.spec;
    if (registered === undefined) return [];
    const { operator, version } = registered;
    return [{ operator, version, load: async () => definitionIn([unpackRevision(revision)], name) }];
  });

/** `migrationGuideOf` returns the instructions for users of the custom resources who upgrade to this version. */
export const migrationGuideOf = ({ spec }: Operator, version: string): string | undefined =>
  spec.versions?.find((each) => sameVersion(each.version, version))?.migrationGuide;

/** `summaries` lists the CRDs of one operator, each with its versions, the newest first. */
export function summaries(operator: Operator, registered: readonly CrdRevision[]) {
  const ofIt = registered.filter(({ spec }) => spec.registered?.operator === operator.metadata.name);
  const names = new Set([
    ...(operator.status?.versions ?? []).flatMap(({ definitions = [] }) => definitions.map(({ name }) => name)),
    ...ofIt.map(({ spec }) => spec.crd.name),
  ]);
  return [...names].sort().map((name) => ({ name, versions: versionsOf(operator, name, ofIt) }));
}

function versionsOf(
  { metadata, status }: Operator,
  name: string,
  registered: readonly CrdRevision[],
): DefinitionVersion[] {
  const { name: operator } = metadata;
  const fromChart = (status?.versions ?? []).flatMap(({ version, definitions = [], compatibility }) =>
    definitions
      .filter((each) => each.name === name)
      .map(({ digest, versions: served }) => ({
        operator,
        version,
        digest,
        ...(served === undefined ? {} : { served }),
        ...(compatibility === undefined ? {} : { compatibility }),
        registered: false,
      })),
  );
  const sent = registered
    .filter(({ spec }) => spec.registered?.operator === operator && spec.crd.name === name)
    .map(({ spec }) => ({ operator, version: spec.registered?.version ?? '', digest: spec.digest, registered: true }));
  return [...fromChart, ...sent].sort(newestFirst);
}

function definitionIn(definitions: readonly object[], name: string): Crd {
  for (const each of definitions) {
    const { crd } = readCrd(each);
    if (crd?.metadata.name === name) return crd;
  }
  // It was listed but is deleted or unreadable by now, which is not an error of the caller.
  throw unavailable();
}

function revisionOf(
  call: Call,
  owner: Operator,
  version: string,
  { metadata, spec }: Crd,
  before: readonly CrdRevision[],
): CrdRevision {
  const { name } = metadata;
  const packed = packDefinition(JSON.stringify(spec));
  if (packed === undefined) throw new Problem(413, 'oversized', 'the CRD is too large to be stored');
  const sequence = (before[0]?.spec.sequence ?? 0) + 1;
  // Two concurrent registrations get the same name, so that the second fails with AlreadyExists.
  const crd = { name, uid: `registered-${shortHash(`${owner.metadata.uid}/${name}`)}`, generation: sequence };
  return {
    apiVersion: API_VERSION,
    kind: crdRevision.kind,
    metadata: {
      name: revisionName({ ...crd, uid: shortHash(`${owner.metadata.uid}/${name}`) }),
      labels: { [REGISTERED_LABEL]: revisionLabelOf(name) },
    },
    spec: {
      crd,
      sequence,
      ...packed,
      recordedAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      registered: { operator: owner.metadata.name, version, by: call.caller.user },
    },
  };
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

const accessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};

/**
 * `demandRight` asks RBAC whether the caller has the verb `register` on crdrevisions, because the platform writes the
 * object with its own identity.
 */
async function demandRight({ client, signal }: Call): Promise<void> {
  const { group, plural: resource } = crdRevision.resource;
  interface Review extends KubernetesObject {
    spec: object;
    status?: { allowed?: boolean };
  }
  const { status } = await client.create<Review>(
    accessReviews,
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: accessReviews.kind,
      metadata: {} as Review['metadata'],
      spec: { resourceAttributes: { verb: 'register', group, resource } },
    },
    { signal },
  );
  if (status?.allowed !== true)
    throw new Problem(403, 'forbidden', `you do not have the verb register on ${resource}.${group}`);
}
