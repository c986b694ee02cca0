/**
 * Recognizes files in a directory that are not definitions. A repository mentions definitions in workflows, editor schemas, documents,
 * templates and patches: none of these is a definition, and none is an error if the user checks the whole directory.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseYaml } from '../../runtime/internal.ts';
import type { LocatedObject, Problem, SourceDocument } from '../documents/index.ts';
import { kustomizationIn, usedBy } from '../documents/sources.ts';

/** Every definition contains this string. */
export const MENTION = 'CustomResourceDefinition';

/** `isBeside` reports whether an unreadable document was never meant to be a definition; one with a syntax error was. */
export function isBeside({ code }: Problem, { text }: SourceDocument): boolean {
  return code === 'not-an-object' || isTemplate(text) || !setsOutToBeOne(text);
}

/** `isUnfinished` reports whether an invalid definition is only an input for others: a template, or a partial patch. */
export function isUnfinished({ object }: LocatedObject): boolean {
  const { spec } = object as { spec?: { group?: unknown; names?: unknown } | null };
  return isTemplate(JSON.stringify(object, asText)) || (spec?.group === undefined && spec?.names === undefined);
}

const asText = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);

const isTemplate = (text: string): boolean => text.includes('{{');

const API_VERSION = /\bapiVersion["']?\s*:\s*["']?apiextensions\.k8s\.io\//;
const KIND_IN_JSON = /"kind"\s*:\s*"CustomResourceDefinition"/;
/** Matches the kind of the document itself, not of a nested object. */
const KIND_IN_YAML = /^["']?kind["']?\s*:\s*["']?(?:CustomResourceDefinition|CustomResourceDefinitionList|List)\b/m;

function setsOutToBeOne(text: string): boolean {
  const kind = text.trimStart().startsWith('{') ? KIND_IN_JSON : KIND_IN_YAML;
  return API_VERSION.test(text) && kind.test(text);
}

/** `mentionsBelow` reports whether a file below a directory matches a pattern. */
export function mentionsBelow(directory: string, what: RegExp): boolean {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  return readdirSync(directory, { withFileTypes: true }).some((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? mentionsBelow(path, what) : entry.isFile() && what.test(readFileSync(path, 'utf8'));
  });
}

/**
 * `mayBuildDefinitions` reports whether kustomize might build a definition from a directory. Remote resources and generators cannot be
 * ruled out.
 */
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
