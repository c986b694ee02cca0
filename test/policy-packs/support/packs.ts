/** Loads the policies below policies/ for the tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import {
  type AdmissionRequest,
  type CompiledPolicy,
  compilePolicy,
  decide,
  type Json,
  policySet,
  readPolicy,
  type World,
} from '../../../src/policy/index.ts';

const root = join(import.meta.dirname, '..', '..', '..');

export function readPack(name: string): readonly CompiledPolicy[] {
  const folder = join(root, 'policies', name);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => compiled(objectsIn(join(folder, file))[0] as Json));
}

export function objectsIn(file: string): readonly Json[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Json);
}

function compiled(object: Json): CompiledPolicy {
  const { model, issues } = readPolicy(object);
  const { policy, issues: more } = model === undefined ? { policy: undefined, issues: [] } : compilePolicy(model);
  if (policy === undefined) throw new Error([...issues, ...more].map(({ message }) => message).join('\n'));
  return policy;
}

/** Returns the policies that an object violates, whatever their enforcement. */
export function violated(
  policies: readonly CompiledPolicy[],
  request: AdmissionRequest,
  world: World,
): readonly string[] {
  const { results } = decide(policySet({ policies }), request, world);
  const broken = results.filter(({ result }) => result === 'error' || result === 'skip');
  if (broken.length > 0)
    throw new Error(broken.map(({ policy, rule, message }) => `${policy}/${rule}: ${message}`).join('\n'));
  return [...new Set(results.map(({ policy }) => policy))].sort();
}
