/** `kidp crd` as the command line runs it, within the process of a test, and a definition to give it. */
import { declareCrd } from '../../src/cli/crd/command.ts';
import { type CommandRun, runCommand } from './check-command.ts';

/** Words that do not begin with a dash and name no place elsewhere are paths in the directory of the run. */
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

/** A definition whose size may be at most this. */
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
