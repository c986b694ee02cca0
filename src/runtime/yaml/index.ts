/**
 * YAML from outside, parsed with bounds on depth, aliases, time and memory.
 *
 * In: text. Out: documents of the `yaml` package, or a plain value. It must not know what the documents are for. Files, charts, indexes and
 * kubeconfigs are all parsed here: a document that hangs the `yaml` package would otherwise stop the platform.
 */
export { faultIn } from './faults.ts';
export { MOST_LEVELS, parseDocuments, parseYaml, TooDeep } from './parse.ts';
