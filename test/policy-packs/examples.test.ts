/**
 * Evaluates the starter policies on all examples in this repository: the concrete resources of the requirements, the
 * examples of the kinds, the quickstart and the policies themselves. All denials, warnings and audit results are listed
 * here, so that no policy reports anything by accident.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { kinds } from '../../src/api/index.ts';
import {
  type AdmissionRequest,
  decide,
  type Json,
  policySet,
  type RuleResult,
  type World,
} from '../../src/policy/index.ts';
import { objectsIn, readPack } from './support/packs.ts';

const root = join(import.meta.dirname, '..', '..');
const policies = [...readPack('platform'), ...readPack('pod-security')];
const set = policySet({ policies });

interface Example {
  readonly from: string;
  readonly object: Json;
}

const below = (folder: string): readonly Example[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .flatMap((file) => objectsIn(join(root, folder, file)).map((object) => ({ from: file, object })));

const fixtures = below('test/api/fixtures');
const kindExamples = kinds.map((kind) => ({ from: `example of ${kind.kind}`, object: parse(kind.example) as Json }));

/** The fixtures that the requirements contain verbatim; the others have every field of a kind. */
const concrete = fixtures.filter(({ from }) => !from.startsWith('full-'));

const ENVIRONMENT = 'audit environment-labels/has-an-environment';
const OWNER = 'warn ownership/has-an-owner';

/** The results of the starter policies on the concrete resources of the requirements; all others have none. */
const SAID: Readonly<Record<string, readonly string[]>> = {
  'base-structure.yaml: Database resource-name': [ENVIRONMENT],
  'finalizer.yaml: Cache with-finalizer': [ENVIRONMENT],
  'ownership.yaml: Database owned-database': [ENVIRONMENT],
  'ownership.yaml: Service owned-service': [ENVIRONMENT],
  'team.yaml: Team backend-team': ['warn cost-tags/teams-have-a-cost-center'],
  'usage.yaml: Application user-service': [OWNER],
  'usage.yaml: Database labelled': [
    'warn connection-secrets/production-rotates',
    ENVIRONMENT,
    OWNER,
    'fail production-backups/require-backup',
  ],
  'usage.yaml: Service selecting': [ENVIRONMENT, OWNER],
};

/** The one example that is meant to be denied. */
const DENIED = ['no-backup.yaml: Database orders: fail production-backups/require-backup'];

test.each([
  {
    name: 'the requirements',
    examples: fixtures,
    // A fragment of the requirements that has the label of a production database and no backup.
    denied: ['usage.yaml: Database labelled: fail production-backups/require-backup'],
  },
  { name: 'the kinds', examples: kindExamples, denied: [] },
  { name: 'the quickstart', examples: below('examples/quickstart'), denied: DENIED },
  { name: 'the policies', examples: below('policies'), denied: [] },
])('of $name nothing is denied by accident, and no rule fails', ({ examples, denied }) => {
  const wrong = examples.flatMap(({ from, object }) =>
    resultsOf(object, examples)
      .filter(({ result, denies }) => denies || result === 'error' || result === 'skip')
      .map((result) => `${nameOf(from, object)}: ${textOf(result)}`),
  );
  expect(wrong).toEqual(denied);
});

test('the resources of the requirements have the expected results', () => {
  const said = concrete.map(
    ({ from, object }) => [nameOf(from, object), resultsOf(object, concrete).map(textOf)] as const,
  );
  expect(Object.fromEntries(said.filter(([, results]) => results.length > 0))).toEqual(SAID);
});

const textOf = ({ result, policy, rule }: RuleResult): string => `${result} ${policy}/${rule}`;

const nameOf = (from: string, object: Json): string =>
  `${from}: ${String(object.kind)} ${String((object.metadata as { name?: string } | undefined)?.name)}`;

function resultsOf(object: Json, examples: readonly Example[]) {
  const [version = '', group = ''] = String(object.apiVersion).split('/').toReversed();
  const { name, namespace } = object.metadata as { name: string; namespace?: string };
  const request: AdmissionRequest = {
    uid: 'example',
    kind: { group, version, kind: String(object.kind) },
    operation: 'CREATE',
    userInfo: { username: 'ada@company.com' },
    name,
    ...(namespace === undefined ? {} : { namespace }),
    object,
  };
  const world: World = {
    now: Date.now(),
    namespace: (each) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: each } }),
    find: ({ apiVersion, kind }) =>
      examples.map((each) => each.object).filter((each) => each.apiVersion === apiVersion && each.kind === kind),
  };
  return decide(set, request, world).results;
}
