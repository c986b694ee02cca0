/** The Dockerfile builds what `npm run image` builds. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { buildFlags } from '../../src/controlplane/cache.ts';
import { recipes } from '../../src/controlplane/index.ts';
import { root } from '../../test/conventions/tools.ts';
import { config } from './build.ts';
import pins from './pins.json' with { type: 'json' };

const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

test('it builds the Helm of the recipe, with its flags', () => {
  const flags = buildFlags(recipes.helm).map((flag) => (flag.includes(' ') ? `"${flag}"` : flag));
  expect(dockerfile).toContain(`go build ${flags.join(' ')} -o /helm/helm ${recipes.helm.package}`);
});

test('it has the configuration of the image', () => {
  expect(dockerfile).toContain(`USER ${config.User}\n`);
  expect(dockerfile).toContain(`ENTRYPOINT ${JSON.stringify(config.Entrypoint).replace(',', ', ')}\n`);
  expect(dockerfile).toContain(`WORKDIR ${config.WorkingDir}\n`);
  for (const variable of config.Env) expect(dockerfile).toContain(variable);
  for (const port of Object.keys(config.ExposedPorts))
    expect(dockerfile).toMatch(new RegExp(`^EXPOSE .*${port.split('/')[0]}`, 'm'));
  for (const volume of Object.keys(config.Volumes)) expect(dockerfile).toContain(`VOLUME ${volume}\n`);
});

test('its bases can be replaced', () => {
  const stages = [...dockerfile.matchAll(/^FROM \$\{(\w+)_IMAGE\}/gm)].map(([, image]) => image);
  expect(stages).toEqual(['GO', 'NODE', 'BASE']);
});

test('Node in the image is the one that the tests use', () => {
  expect(pins.node.version).toBe({ ...manifest.devDependencies, ...manifest.dependencies }.node);
});
