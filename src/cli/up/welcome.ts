/** What to try first. */

export function commandsToTry(kubectl: string): string[] {
  return [
    'Try, in another terminal:',
    '',
    '  # a team, an application and its database: let in',
    `  ${kubectl} apply -f examples/quickstart/team.yaml`,
    '',
    '  # the same database under another owner: denied, with the reason',
    `  ${kubectl} apply -f examples/quickstart/new-owner.yaml`,
    '',
    'Not in this version yet: CEL policies, the rejection of breaking CRD changes, and the reconcilers (CHANGELOG.md).',
  ];
}
