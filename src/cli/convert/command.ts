/** How `kidp convert` is called. */
import { type Command, Option } from 'commander';

export function declareConvert(command: Command, done: (code: number) => void): void {
  command
    .description('turn policies into those of another system: ours, of Kubernetes itself, of Gatekeeper')
    .requiredOption('-f, --filename <path...>', 'policies: files, directories, or - for standard input')
    .addOption(
      new Option('--to <system>', 'what to make of them')
        .choices(['policy', 'native', 'gatekeeper'])
        .makeOptionMandatory(),
    )
    .addOption(new Option('-o, --output <format>', 'how to write them').choices(['yaml', 'json']).default('yaml'))
    .option('--strict', 'fail where something has no counterpart')
    .addHelpText(
      'after',
      `
Reads Policy, ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings, ConstraintTemplates of Gatekeeper that are
written in CEL with their constraints, and the policies of Kyverno that are written in CEL. CRDs among the files tell what the
resources of their kinds are called; other objects are left out. What has no counterpart is said on standard error.

Exit codes: 0 converted, 1 something could not be converted (with --strict: not entirely), 2 bad input.`,
    )
    .action(async (options) => {
      const { convert } = await import('./run.ts');
      done(await convert(options, { out: process.stdout, err: process.stderr, in: process.stdin }));
    });
}
