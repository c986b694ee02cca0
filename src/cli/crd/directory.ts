/**
 * What lies in a directory beside definitions. A repository mentions them in workflows, editor schemas, documents, templates and
 * patches: none of these is a definition, and whoever checks a directory has not said that it is.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { LocatedObject, Problem, SourceDocument } from '../documents/index.ts';
import { parseYaml } from '../documents/parse.ts';
import { kustomizationIn, usedBy } from '../documents/sources.ts';

/** Where this is not to be found, there is no definition. */
export const MENTION = 'CustomResourceDefinition';

/** Whether a document that cannot be read was never meant as a definition. One with a slip in it was. */
export function isBeside({ code }: Problem, { text }: SourceDocument): boolean {
  return code === 'not-an-object' || isTemplate(text) || !setsOutToBeOne(text);
}

/** A definition that cannot be read may be what others make one of: a template, or a patch that leaves out most of it. */
export function isUnfinished({ object }: LocatedObject): boolean {
  const { spec } = object as { spec?: { group?: unknown; names?: unknown } | null };
  return isTemplate(JSON.stringify(object, asText)) || (spec?.group === undefined && spec?.names === undefined);
}

const asText = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);

const isTemplate = (text: string): boolean => text.includes('{{');

const API_VERSION = /\bapiVersion["']?\s*:\s*["']?apiextensions\.k8s\.io\//;
const KIND_IN_JSON = /"kind"\s*:\s*"CustomResourceDefinition"/;
/** Of the document itself, not of something in it. */
const KIND_IN_YAML = /^["']?kind["']?\s*:\s*["']?(?:CustomResourceDefinition|CustomResourceDefinitionList|List)\b/m;

function setsOutToBeOne(text: string): boolean {
  const kind = text.trimStart().startsWith('{') ? KIND_IN_JSON : KIND_IN_YAML;
  return API_VERSION.test(text) && kind.test(text);
}

/** Whether a file below a directory has this in it. */
export function mentionsBelow(directory: string, what: RegExp): boolean {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  return readdirSync(directory, { withFileTypes: true }).some((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? mentionsBelow(path, what) : entry.isFile() && what.test(readFileSync(path, 'utf8'));
  });
}

/** Whether kustomize might make a definition of a directory. What is not here, or made on the way, cannot be ruled out. */
export function mayBuildDefinitions(directory: string, seen: Set<string> = new Set()): boolean {
  if (seen.has(resolve(directory))) return false;
  seen.add(resolve(directory));
  if (makesMore(directory)) return true;
  return usedBy(directory).some((path) => {
    const kind = statSync(path, { throwIfNoEntry: false });
    if (kind?.isFile() === true) return readFileSync(path).includes(MENTION);
    return kind?.isDirectory() !== true || mayBuildDefinitions(path, seen);
  });
}

function makesMore(directory: string): boolean {
  const file = kustomizationIn(directory);
  if (file === undefined) return true;
  try {
    const read: unknown = parseYaml(readFileSync(file, 'utf8')) ?? {};
    return typeof read !== 'object' || read === null || 'generators' in read || 'helmCharts' in read;
  } catch {
    return true;
  }
}
