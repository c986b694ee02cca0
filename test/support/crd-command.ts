/** `kidp crd` as the command line runs it, within the process of a test. */
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
