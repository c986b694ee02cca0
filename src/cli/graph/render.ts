/** Renders a graph as text, as dot for Graphviz, and as Mermaid. Names are untrusted input and are escaped. */
import { plainLine } from '../../runtime/internal.ts';
import type { Graph, GraphEdge, GraphNode } from './build.ts';
import type { Suggestion } from './suggest.ts';

/** `asText` renders a tree of owners, with the dependencies of each object below it. */
export function asText({ nodes, edges, suggestions }: Graph): string {
  const owns = Map.groupBy(edges.filter(isOwning), ({ from }) => from);
  const uses = Map.groupBy(
    edges.filter((edge) => !isOwning(edge)),
    ({ from }) => from,
  );
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const owned = new Set(edges.filter(isOwning).map(({ to }) => to));
  const lines: string[] = [];
  const seen = new Set<string>();
  const write = (node: GraphNode, indent: string, last: string, rest: string) => {
    seen.add(node.id);
    lines.push(`${indent}${last}${plainLine(node.id)}${stateOf(node)}`);
    const below = `${indent}${rest}`;
    const children = (owns.get(node.id) ?? [])
      .flatMap(({ to }) => byId.get(to) ?? [])
      .filter(({ id }) => !seen.has(id));
    const bar = children.length > 0 ? '│  ' : '   ';
    for (const { to, state } of sorted(uses.get(node.id) ?? [])) {
      lines.push(`${below}${bar}uses ${plainLine(to)}${state === 'matches' ? ' (not bound yet)' : ''}`);
    }
    children.sort(byOrder).forEach((child, index) => {
      const isLast = index === children.length - 1;
      write(child, below, isLast ? '└─ ' : '├─ ', isLast ? '   ' : '│  ');
    });
  };
  for (const root of [...nodes].filter(({ id }) => !owned.has(id)).sort(byOrder)) write(root, '', '', '');
  // Objects in an ownership cycle have no root.
  for (const node of [...nodes].sort(byOrder)) if (!seen.has(node.id)) write(node, '', '', '');
  if (suggestions.length > 0) lines.push('', 'suggestions:', ...suggestions.flatMap(suggestionLines));
  return lines.length === 0 ? 'no objects found\n' : `${lines.join('\n')}\n`;
}

function suggestionLines({ for: who, message, field, selector }: Suggestion): string[] {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return [
    `- ${plainLine(who)}: ${plainLine(message)}`,
    ...(field === undefined ? [] : [`  ${plainLine(field)}: {matchLabels: {${plainLine(labels.join(', '))}}}`]),
  ];
}

export function asDot({ nodes, edges }: Graph): string {
  const quoted = (text: string) => `"${plainLine(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const shape = ({ kind, missing }: GraphNode) =>
    `shape=${kind === 'Team' ? 'house' : kind === 'Application' ? 'folder' : 'box'}${missing ? ', style=dashed' : ''}`;
  return [
    'digraph kidp {',
    '  rankdir=LR;',
    ...nodes.map((node) => `  ${quoted(node.id)} [${shape(node)}, label=${quoted(`${node.id}${stateOf(node)}`)}];`),
    ...edges.map(({ from, to, relation, state }) =>
      relation === 'owns'
        ? `  ${quoted(from)} -> ${quoted(to)};`
        : `  ${quoted(from)} -> ${quoted(to)} [label="uses", style=${state === 'bound' ? 'bold' : 'dashed'}];`,
    ),
    '}',
    '',
  ].join('\n');
}

export function asMermaid({ nodes, edges }: Graph): string {
  const ids = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const label = (text: string) =>
    `"${plainLine(text).replace(/[^\w .,:/()@+-]/gu, (each) => `#${each.codePointAt(0)};`)}"`;
  const known = edges.filter(({ from, to }) => ids.has(from) && ids.has(to));
  return [
    'graph LR',
    ...nodes.map((node) => `  ${ids.get(node.id)}[${label(`${node.id}${stateOf(node)}`)}]`),
    ...known.map(({ from, to, relation, state }) => {
      const arrow = relation === 'owns' ? '-->' : state === 'bound' ? '==>|uses|' : '-.->|uses|';
      return `  ${ids.get(from)} ${arrow} ${ids.get(to)}`;
    }),
    '',
  ].join('\n');
}

const isOwning = ({ relation }: GraphEdge): boolean => relation === 'owns';
const stateOf = ({ phase, missing }: GraphNode): string =>
  missing ? '  (does not exist)' : phase === undefined ? '' : `  ${plainLine(phase)}`;

const order = ['Team', 'Application', 'Service', 'Database', 'Cache', 'Topic', 'Secret'];
const byOrder = (one: GraphNode, other: GraphNode): number =>
  order.indexOf(one.kind) - order.indexOf(other.kind) || (one.id < other.id ? -1 : 1);
const sorted = (edges: readonly GraphEdge[]): GraphEdge[] =>
  [...edges].sort((one, other) => (one.to < other.to ? -1 : 1));
