import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import type { Client } from '../runtime/index.ts';
import { docsPage } from './docs-page.ts';
import { openApi } from './openapi.ts';
import { allRoutes, type RouteParts } from './routes/index.ts';
import { schemas } from './schemas.ts';

const nothing = { client: {} as Client, systemNamespace: 'kidp-system' } as RouteParts;
const routes = allRoutes(nothing);
const document = openApi(routes) as {
  paths: Record<string, Record<string, { operationId: string; responses: object }>>;
};

test('contains every endpoint of docs/requirements.md, 002', () => {
  const there = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(there).toEqual(
    expect.arrayContaining([
      'POST /api/v1/operators',
      'GET /api/v1/operators',
      'GET /api/v1/operators/{name}/health',
      'POST /api/v1/clusters',
      'GET /api/v1/clusters',
      'GET /api/v1/clusters/{name}',
      'GET /api/v1/clusters/{name}/health',
      'DELETE /api/v1/clusters/{name}',
      'GET /api/v1/clusters/{cluster}/operators/{name}/health',
      'POST /api/v1/deployments',
      'GET /api/v1/deployments',
      'GET /api/v1/deployments/{id}',
      'POST /api/v1/deployments/{id}/rollback',
      'GET /api/v1/deployments/{id}/rollback-status',
      'DELETE /api/v1/deployments/{id}',
      'POST /api/v1/crds',
      'GET /api/v1/crds',
      'GET /api/v1/crds/{name}',
      'POST /api/v1/crds/{name}/validate',
      'POST /api/v1/crds/{name}/approve',
      'POST /api/v1/approvals/{id}/approve',
      'POST /api/v1/approvals/{id}/reject',
      'GET /api/v1/approvals',
    ]),
  );
});

test('all references resolve, all schemas compile and operation ids are unique', () => {
  const text = JSON.stringify(document);
  for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) expect(schemas).toHaveProperty(name);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const name of Object.keys(schemas)) {
    expect(() => ajv.compile({ $ref: `#/components/schemas/${name}`, components: { schemas } }), name).not.toThrow();
  }
  const ids = routes.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('no response contains a kubeconfig or the name of a Secret', () => {
  const inAnswers = Object.entries(schemas).filter(([name]) => !name.startsWith('New'));
  expect(JSON.stringify(inAnswers)).not.toMatch(/"kubeconfig":|"secretName":/);
});

test('exactly the routes that change something are audited', () => {
  const silent = ['validateCrd'];
  for (const { method, operationId, audit } of routes) {
    expect(audit !== undefined, operationId).toBe(method !== 'GET' && !silent.includes(operationId));
  }
});

test('the docs page loads nothing from other hosts', () => {
  const { html, policy } = docsPage();
  expect(html).not.toMatch(/src=|href=|https?:/);
  expect(policy).toContain("default-src 'none'");
});
