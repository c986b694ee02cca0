/** The flags and the help of `kidp convert`. */
import { type Command, Option } from 'commander';
import { terminal } from '../common/streams.ts';

/** Declares `kidp convert`; `done` gets the exit code. */
export function declareConvert(command: Command, done: (code: number) => void): void {
  command
    .description('Convert policies between kidp, Kubernetes, Gatekeeper and Kyverno')
    .requiredOption('-f, --filename <path...>', 'Read policies from files, directories, or - for standard input')
    .addOption(
      new Option('--to <system>', 'Choose the target: kidp policies, native Kubernetes policies, or Gatekeeper')
        .choices(['policy', 'native', 'gatekeeper'])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('-o, --output <format>', 'Choose the output format').choices(['yaml', 'json']).default('yaml'),
    )
    .option('--strict', 'Fail if something has no equivalent in the target')
    .addHelpText(
      'after',
      `
Reads Policy, ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings, Gatekeeper ConstraintTemplates written in
CEL with their constraints, and Kyverno policies written in CEL. CRDs among the files provide the plural names of their kinds; other
objects are ignored. Fields without an equivalent are listed on standard error.

Exit codes: 0 converted, 1 something could not be converted (with --strict: not entirely), 2 bad input.`,
    )
    .action(async (options) => {
      const { convert } = await import('./run.ts');
      done(await convert(options, terminal));
    });
}
