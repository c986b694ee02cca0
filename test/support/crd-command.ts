/** Runs `kidp crd` in the process of a test, and provides a definition for it. */
import { declareCrd } from '../../src/cli/crd/command.ts';
import { type CommandRun, runCommand } from './check-command.ts';

/** Arguments that are neither flags nor other locations are paths in the directory of the run. */
export function runCrd([verb = '', ...words]: readonly string[], run: CommandRun = {}) {
  let flag = '';
  const placed = words.map((word) => {
    if (word.startsWith('-') && word !== '-') {
      flag = word;
      return word;
    }
    const isPath = flag === '' || flag === '--objects' || flag === '--values' || flag === '-q' || flag === '--quiet';
    return isPath && run.directory !== undefined && !/^-$|^(?:cluster|revision|git):/.test(word) && verb !== 'history'
      ? `${run.directory}/${word}`
      : word;
  });
  return runCommand(declareCrd, [verb, ...placed], run);
}

/** A definition with this maximum size. */
export const widget = (maximum: number, plural = 'widgets') => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ${plural}, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: ${maximum}}
`;
