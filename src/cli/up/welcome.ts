/** What to try first. */

/** Somebody else's cluster has no starter policies until its owner puts them there. */
export function commandsToTry(kubectl: string, cluster: 'own' | 'theirs' = 'own'): string[] {
  return [
    'Try, in another terminal:',
    '',
    '  # a team, an application and its database: let in',
    `  ${kubectl} apply -f examples/quickstart/team.yaml`,
    '',
    ...(cluster === 'own'
      ? []
      : [
          '  # the starter policies for these: each answers what it would deny of what is there',
          `  ${kubectl} apply -f policies/platform`,
          '',
        ]),
    '  # a production database without backups: denied by a policy, with the reason',
    `  ${kubectl} apply -f examples/quickstart/no-backup.yaml`,
    '',
    ...(cluster === 'own'
      ? []
      : [
          '  # a definition of somebody else: let in',
          `  ${kubectl} apply -f examples/quickstart/crd/definition.yaml`,
          '',
        ]),
    '  # a CRD change that would break what exists: rejected, with what it breaks and what to do instead',
    `  ${kubectl} apply -f examples/quickstart/crd/narrower.yaml`,
    '',
    '  # the policies, whether each is in force, and how many existing objects violate it',
    `  ${kubectl} get policies`,
    '',
    ...(cluster === 'own'
      ? [
          '  # a service that uses the database, and a topic: handed to a broker, ready in a moment, with a connection secret',
          `  ${kubectl} apply -f examples/quickstart/service.yaml`,
          `  ${kubectl} get databases,services.platform.company.com,topics -n team-backend`,
          '',
        ]
      : []),
  ];
}

/** Where there is Helm. */
export function rolloutsToTry(kubectl: string, kubeconfig: string): string[] {
  return [
    '  # an operator from a Helm chart, rolled out to this cluster and watched',
    `  ${kubectl} apply -f examples/rollout/operator.yaml`,
    `  ${kubectl} apply -f examples/rollout/first.yaml`,
    `  npx kidp rollout watch greeter-first --kubeconfig ${kubeconfig}`,
    '',
    '  # a rollout whose pods find no node: taken back by itself',
    `  ${kubectl} apply -f examples/rollout/nowhere.yaml`,
    `  npx kidp rollout watch greeter-nowhere --kubeconfig ${kubeconfig}`,
    '',
  ];
}
