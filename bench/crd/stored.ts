/** Objects of 2 KB, and a definition whose change hits every tenth of them. */
import { fleet } from './pairs.ts';

const sections = 4;

export const storedPair = changed();

function changed() {
  const before = fleet(sections);
  const after = structuredClone(before);
  const [image] = imagesOf(after);
  Object.assign(image ?? {}, {
    'x-kubernetes-validations': [{ rule: "!self.startsWith('forbidden')", message: 'is forbidden' }],
    pattern: '^[a-z0-9./:-]+$',
  });
  return { before, after };
}

function imagesOf(definition: Record<string, unknown>): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, child] of Object.entries(value)) {
      if (key === 'image') found.push(child as Record<string, unknown>);
      else walk(child);
    }
  };
  walk(definition);
  return found;
}

/** Every tenth has an image that the new rule refuses. */
export const storedObject = (index: number) => ({
  apiVersion: 'bench.example.com/v1',
  kind: 'Fleet',
  metadata: { name: `fleet-${index}`, namespace: `team-${index % 50}`, labels: { app: `app-${index}` } },
  spec: Object.fromEntries(
    Array.from({ length: sections }, (_, section) => [
      `section${section}`,
      {
        image: index % 10 === 0 && section === 0 ? `forbidden/image-${index}` : `registry/image-${index}:${section}`,
        mode: 'Fast',
        replicas: index % 40,
        labels: { app: `app-${index}`, tier: `tier-${section}`, team: `team-${index % 50}` },
        ports: Array.from({ length: 4 }, (_, port) => ({
          name: `port-${port}`,
          port: 8000 + port,
          protocol: port === 2 ? 'UDP' : 'TCP',
        })),
        limits: { cpu: `${100 + (index % 900)}m`, memory: `${128 + (index % 64)}Mi` },
        selector: { matchExpressions: [{ key: 'app', operator: 'In', values: [`app-${index}`, 'other'] }] },
      },
    ]),
  ),
});
