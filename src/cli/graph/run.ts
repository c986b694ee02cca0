/**
 * `kidp graph` shows ownership and dependencies in manifests or in a cluster, and suggests dependencies.
 *
 * Exit codes: 0 success, also if the graph is empty; 2 bad input.
 */

import { withClient } from '../common/client.ts';
import { InputError } from '../common/failure.ts';
import type { Streams } from '../common/streams.ts';
import { buildGraph, type Graph } from './build.ts';
import { objectsInCluster, objectsInFiles, teamNamed } from './objects.ts';
import { asDot, asMermaid, asText } from './render.ts';

export interface GraphOptions {
  readonly filename?: string[];
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly team?: string;
  readonly output: keyof typeof formats;
}

const formats = {
  text: asText,
  dot: asDot,
  mermaid: asMermaid,
  json: (graph: Graph) => `${JSON.stringify(graph, null, 2)}\n`,
};

export async function graph(options: GraphOptions, streams: Streams): Promise<number> {
  const { filename, kubeconfig, context, team, output } = options;
  if (filename !== undefined && kubeconfig !== undefined) {
    throw new InputError('option', 'set -f or --kubeconfig, not both: either manifests or a cluster are read.');
  }
  const where = {
    ...(kubeconfig === undefined ? {} : { file: kubeconfig }),
    ...(context === undefined ? {} : { context }),
  };
  const objects =
    filename === undefined ? await withClient(where, objectsInCluster) : await objectsInFiles(filename, streams.in);
  const built = buildGraph(objects, team === undefined ? undefined : teamNamed(team, objects));
  streams.out.write(formats[output](built));
  return 0;
}
