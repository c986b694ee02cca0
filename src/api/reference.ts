/** Generates the reference page of a kind, in Markdown. */
import { GROUP } from './constants.ts';
import type { Kind } from './kind.ts';
import type { OpenApiSchema } from './schema/index.ts';

export function referenceFor(kind: Kind): string {
  const fullName = `${kind.plural}.${GROUP}`;
  const scope = kind.scope === 'Cluster' ? 'It is cluster-scoped.' : 'It is namespaced.';
  const sections = [
    `# ${kind.kind}`,
    kind.description,
    `${scope} \`kubectl get ${kind.shortName}\`, or in full \`kubectl get ${fullName}\`.${coreNamesake(kind)}`,
    `## Example\n\n\`\`\`yaml\n${kind.example.trim()}\n\`\`\``,
    `## spec\n\n${fieldTable(kind.spec.openapi, 'spec')}`,
    ruleTable([...rulesOf(kind.spec.openapi, 'spec'), ...rulesOf(kind.status.openapi, 'status')]),
    `## status\n\n${fieldTable(kind.status.openapi, 'status')}`,
    `## Columns\n\n${columnTable(kind)}`,
  ];
  return `${sections.filter(Boolean).join('\n\n')}\n`;
}

/** `referenceIndex` generates the index of the reference pages. */
export function referenceIndex(kinds: readonly Kind[]): string {
  const rows = kinds.map((kind) => {
    const scope = kind.scope === 'Cluster' ? 'cluster' : 'namespace';
    return `| [${kind.kind}](${kind.kind.toLowerCase()}.md) | \`${kind.shortName}\` | ${scope} | ${cell(kind.description)} |`;
  });
  return `# The kinds of ${GROUP}

\`kubectl get kidp\` lists them all. Two of them share their names with kinds of the Kubernetes core API, and kubectl prefers the
core kinds: write \`services.${GROUP}\` and \`secrets.${GROUP}\`, or the short names.

| Kind | Short name | Scope | |
|---|---|---|---|
${rows.join('\n')}

For completion and validation in an editor, make this the first line of a manifest, with the path to the schema of its kind:

\`\`\`yaml
# yaml-language-server: $schema=manifests/schemas/database.json
\`\`\`

## Defaults

A field has a default if most users would choose the same value. It has none if a policy should be able to require a choice:
whether a database has backups (\`spec.backup.enabled\`), from where a service can be reached (\`spec.loadBalancer.scope\`),
sizes, and the replication of messages. Such a field stays unset, and a rule such as
\`has(spec.backup) && spec.backup.enabled == true\` can detect that.

\`spec.owner\` and \`spec.targetRef\` are optional at creation, so that an incomplete manifest can be tried; a policy can require
them. After creation, the owner cannot be changed, added or removed.
`;
}

function coreNamesake(kind: Kind): string {
  if (kind.kind !== 'Service' && kind.kind !== 'Secret') return '';
  return ` \`kubectl get ${kind.plural}\` refers to the ${kind.kind} of the Kubernetes core API.`;
}

function fieldTable(schema: OpenApiSchema, path: string): string {
  const rows = fieldsOf(schema, path).map(
    ({ path, required, field }) =>
      `| \`${path}\`${required ? ' *' : ''} | ${typeOf(field)} | ${defaultOf(field)} | ${cell(field.description ?? '')} |`,
  );
  return `Fields marked * are required.\n\n| Field | Type | Default | |\n|---|---|---|---|\n${rows.join('\n')}`;
}

function fieldsOf(schema: OpenApiSchema, path: string): { path: string; required: boolean; field: OpenApiSchema }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const here = `${path}.${name}`;
    return [{ path: here, required: schema.required?.includes(name) ?? false, field }, ...below(field, here)];
  });
}

function below(field: OpenApiSchema, path: string): ReturnType<typeof fieldsOf> {
  if (isLabelSelector(field)) return fieldsOf({ ...field, properties: beyondLabels(field) }, path);
  if (field.items) return below(field.items, `${path}[]`);
  if (field.additionalProperties) return below(field.additionalProperties, `${path}.*`);
  return fieldsOf(field, path);
}

/** The fields that a selector has in addition to those of every label selector. */
function beyondLabels({ properties }: OpenApiSchema): NonNullable<OpenApiSchema['properties']> {
  const { matchLabels: _, matchExpressions: __, ...more } = properties ?? {};
  return more;
}

/** The labels of a selector take one row instead of six: every reader knows these fields. */
function isLabelSelector(field: OpenApiSchema): boolean {
  return field['x-kubernetes-map-type'] === 'atomic' && field.properties?.matchLabels !== undefined;
}

function typeOf(field: OpenApiSchema): string {
  if (field.enum) return field.enum.map((value) => `\`${value}\``).join(', ');
  if (field.items) return `list of ${plainType(field.items)}; ${range(field.minItems, field.maxItems)}`;
  if (field.additionalProperties)
    return `map to ${plainType(field.additionalProperties)}; at most ${field.maxProperties}`;
  if (field.type === 'integer') return `integer, ${range(field.minimum, field.maximum)}`;
  return plainType(field);
}

function plainType(field: OpenApiSchema): string {
  if (isLabelSelector(field)) return 'label selector (`matchLabels`, `matchExpressions`)';
  if (field.enum) return field.enum.map((value) => `\`${value}\``).join(', ');
  if (field['x-kubernetes-int-or-string']) return 'integer or string';
  if (field.format === 'date-time') return 'date and time';
  if (field['x-kubernetes-preserve-unknown-fields']) return 'any object';
  if (field.type === 'string' && field.maxLength !== undefined) return `string, at most ${field.maxLength} characters`;
  return field.type ?? '';
}

function range(from: number | undefined, to: number | undefined): string {
  if (to === Number.MAX_SAFE_INTEGER) return `at least ${from}`;
  return from === undefined ? `at most ${to}` : `${from} to ${to}`;
}

function defaultOf(field: OpenApiSchema): string {
  return field.default === undefined ? '' : `\`${JSON.stringify(field.default)}\``;
}

function rulesOf(schema: OpenApiSchema, path: string): { path: string; when: string; message: string }[] {
  if (isLabelSelector(schema)) return [];
  const here = (schema['x-kubernetes-validations'] ?? []).map(({ rule, message, fieldPath }) => ({
    path: `${path}${fieldPath ?? ''}`,
    when: rule.includes('oldSelf') ? 'on update' : 'always',
    message,
  }));
  const inside = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => rulesOf(field, `${path}.${name}`));
  const items = schema.items ? rulesOf(schema.items, `${path}[]`) : [];
  const values = schema.additionalProperties ? rulesOf(schema.additionalProperties, `${path}.*`) : [];
  return [...here, ...inside, ...items, ...values];
}

function ruleTable(rules: ReturnType<typeof rulesOf>): string {
  if (rules.length === 0) return '';
  const rows = rules.map(({ path, when, message }) => `| \`${path}\` | ${when} | ${cell(message)} |`);
  return `## Rules\n\n| Field | When | |\n|---|---|---|\n${rows.join('\n')}`;
}

function columnTable(kind: Kind): string {
  const rows = kind.columns.map(
    ({ name, jsonPath, description, priority }) =>
      `| ${name}${priority ? ' (`-o wide`)' : ''} | \`${jsonPath.replaceAll('|', '\\|')}\` | ${cell(description)} |`,
  );
  return `| Column | Taken from | |\n|---|---|---|\n${rows.join('\n')}`;
}

function cell(sentence: string): string {
  return sentence.replaceAll('|', '\\|');
}
