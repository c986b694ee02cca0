import { expect, test } from 'vitest';
import { runCommand } from '../../../test/support/check-command.ts';
import { declareGraph } from './command.ts';

const shop = `apiVersion: platform.company.com/v1
kind: Team
metadata: {name: backend}
spec: {namespace: team-backend}
---
apiVersion: platform.company.com/v1
kind: Application
metadata: {name: users, namespace: team-backend}
spec: {owner: {kind: Team, name: backend}}
---
apiVersion: platform.company.com/v1
kind: Database
metadata: {name: db, namespace: team-backend, labels: {type: postgresql, tier: one}}
spec: {owner: {kind: Application, name: users}}
---
apiVersion: platform.company.com/v1
kind: Database
metadata: {name: other, namespace: team-backend, labels: {type: postgresql}}
spec: {owner: {kind: Team, name: backend}}
status: {phase: ready}
---
apiVersion: platform.company.com/v1
kind: Cache
metadata: {name: sessions, namespace: team-backend, labels: {app: sessions}}
spec: {owner: {kind: Application, name: users}}
---
apiVersion: platform.company.com/v1
kind: Topic
metadata: {name: events, namespace: team-shared, labels: {app: events}}
spec: {sharedWith: [team-backend]}
---
apiVersion: platform.company.com/v1
kind: Topic
metadata: {name: secret-events, namespace: team-shared, labels: {app: events}}
spec: {}
---
apiVersion: platform.company.com/v1
kind: Service
metadata: {name: api, namespace: team-backend}
spec:
  owner: {kind: Application, name: users}
  env:
  - {name: PASSWORD, valueFrom: {secretKeyRef: {name: db-connection, key: password}}}
  dependencies:
    topicSelector: {matchLabels: {app: events}, fromTeams: [shared]}
    secretSelector: {matchLabels: {app: keys}}
---
apiVersion: platform.company.com/v1
kind: Secret
metadata: {name: keys, namespace: team-backend, labels: {app: key}}
spec: {owner: {kind: Team, name: gone}}
---
apiVersion: platform.company.com/v1
kind: Team
metadata: {name: shared}
spec: {namespace: team-shared}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: not-ours}
`;

const run = (flags: string[], standardInput = shop) => runCommand(declareGraph, flags, { standardInput });

test('as text: a tree of owners with dependencies and suggestions', async () => {
  const { code, out, err } = await run(['-f', '-']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toBe(`Team backend
├─ Application team-backend/users
│  ├─ Service team-backend/api
│  │     uses Topic team-shared/events (not bound yet)
│  ├─ Database team-backend/db
│  └─ Cache team-backend/sessions
└─ Database team-backend/other  ready
Team gone  (does not exist)
└─ Secret team-backend/keys
Team shared
Topic team-shared/events
Topic team-shared/secret-events

suggestions:
- Service team-backend/api: its environment variables PASSWORD read the Secret db-connection of Database team-backend/db: declare the dependency, so that it is notified of every rotation
  spec.dependencies.databaseSelector: {matchLabels: {tier: "one"}}
- Service team-backend/api: Cache team-backend/sessions belongs to the same Application team-backend/users, and nothing uses it
  spec.dependencies.cacheSelector: {matchLabels: {app: "sessions"}}
- Service team-backend/api: its secretSelector matches no Secret: Secret team-backend/keys is similar: label app is key, want keys
`);
});

test('as JSON: one team with its dependencies and dependents', async () => {
  const { out } = await run(['-f', '-', '-o', 'json', '--team', 'team-backend']);
  const graph = JSON.parse(out);
  expect(graph.nodes.map(({ id }: { id: string }) => id)).toEqual([
    'Team backend',
    'Application team-backend/users',
    'Database team-backend/db',
    'Database team-backend/other',
    'Cache team-backend/sessions',
    'Topic team-shared/events',
    'Service team-backend/api',
  ]);
  expect(graph.edges).toContainEqual({
    from: 'Service team-backend/api',
    to: 'Topic team-shared/events',
    relation: 'uses',
    state: 'matches',
  });
  expect(graph.suggestions.map(({ reason }: { reason: string }) => reason)).toEqual([
    'secret-named-by-hand',
    'unused',
    'matches-nothing',
  ]);
});

test('a shared resource of a team that the selector does not name is not used', async () => {
  const { out } = await run(['-f', '-'], shop.replace(', fromTeams: [shared]', ''));
  expect(out).not.toContain('uses Topic');
  expect(out).toContain('its topicSelector matches no Topic: create a Topic with these labels');
  expect(out).toContain('name that team in spec.dependencies.topicSelector.fromTeams');
});

test('as dot and mermaid', async () => {
  const dot = (await run(['-f', '-', '-o', 'dot'])).out;
  expect(dot).toContain('  "Team backend" -> "Application team-backend/users";');
  expect(dot).toContain('"Service team-backend/api" -> "Topic team-shared/events" [label="uses", style=dashed];');
  const mermaid = (await run(['-f', '-', '-o', 'mermaid'])).out;
  expect(mermaid).toMatch(/^graph LR\n {2}n0\["Team backend"\]\n/);
  expect(mermaid).toContain('  n0 --> n1\n');
  expect(mermaid).toContain('-.->|uses|');
});

test('objects in an ownership cycle are shown once', async () => {
  const circle = ['a', 'b'].map(
    (name, index) => `apiVersion: platform.company.com/v1
kind: Application
metadata: {name: ${name}, namespace: space}
spec: {owner: {kind: Application, name: ${['b', 'a'][index]}}}
`,
  );
  const { out } = await run(['-f', '-'], circle.join('---\n'));
  expect(out).toBe('Application space/a\n└─ Application space/b\n');
});

test('control characters and markup in manifests are escaped', async () => {
  const hostile = `apiVersion: platform.company.com/v1
kind: Database
metadata: {name: d, namespace: space, labels: {"a": "x\\u001b[31m\\"]; evil"}}
spec: {owner: {kind: Application, name: a}}
---
apiVersion: platform.company.com/v1
kind: Application
metadata: {name: a, namespace: space}
spec: {owner: {kind: Team, name: t}}
---
apiVersion: platform.company.com/v1
kind: Service
metadata: {name: s, namespace: space}
spec: {owner: {kind: Application, name: a}}
`;
  const { out } = await run(['-f', '-'], hostile);
  expect(out).toContain('matchLabels: {a: "x\\u001b[31m');
  expect(out).not.toContain('\u001b');
});

test.each([
  {
    reason: 'no object of the platform',
    flags: ['-f', '-'],
    input: 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n',
    err: /no Team/,
  },
  {
    reason: 'a Team that does not exist',
    flags: ['-f', '-', '--team', 'backends'],
    input: shop,
    err: /did you mean backend\?/,
  },
  { reason: 'manifests and a cluster', flags: ['-f', '-', '--kubeconfig', 'x'], input: shop, err: /not both/ },
  {
    reason: 'an object that does not match its schema',
    flags: ['-f', '-'],
    input: shop.replace('app: sessions', 'app: 5').replace('{sharedWith: [team-backend]}', '{sharedWith: 7}'),
    err: /spec\.sharedWith must be array/,
  },
])('bad input is exit code 2: $reason', async ({ flags, input, err }) => {
  const answer = await run(flags, input);
  expect(answer).toMatchObject({ code: 2, out: '' });
  expect(answer.err).toMatch(err);
});
