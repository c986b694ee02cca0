/** The commands to try that `kidp up` prints. */

/** `commandsToTry` lists them; an existing cluster has no starter policies and no example CRD until its owner applies them. */
export function commandsToTry(kubectl: string, cluster: 'own' | 'theirs' = 'own'): string[] {
  return [
    'Try, in another terminal:',
    '',
    '  # a team, an application and its database: admitted',
    `  ${kubectl} apply -f examples/quickstart/team.yaml`,
    '',
    ...(cluster === 'own' ? [] : ['  # the starter policies', `  ${kubectl} apply -f policies/platform`, '']),
    cluster === 'own'
      ? '  # a production database without backups: denied by a policy, with the reason'
      : '  # a production database without backups: denied by a policy',
    `  ${kubectl} apply -f examples/quickstart/no-backup.yaml`,
    '',
    ...(cluster === 'own'
      ? []
      : [
          '  # a CRD of another project: admitted',
          `  ${kubectl} apply -f examples/quickstart/crd/definition.yaml`,
          '',
        ]),
    cluster === 'own'
      ? '  # a CRD change that breaks existing objects: denied, with what it breaks and what to do instead'
      : '  # a CRD change that breaks existing objects: denied',
    `  ${kubectl} apply -f examples/quickstart/crd/narrower.yaml`,
    '',
    '  # the policies: whether each is enforced, and how many existing objects violate it',
    `  ${kubectl} get policies`,
    '',
    ...(cluster === 'own'
      ? [
          '  # a service that uses the database, and a topic: deployed by a broker, with a connection secret',
          `  ${kubectl} apply -f examples/quickstart/service.yaml`,
          `  ${kubectl} get databases,services.platform.company.com,topics -n team-backend`,
          '',
        ]
      : []),
  ];
}

/** `metricsToTry` shows how to read the metrics, which needs a token. */
export function metricsToTry(kubectl: string, url: string): string[] {
  return [
    '  # the metrics, with the token of a ServiceAccount that may read them',
    `  curl -k -H "Authorization: Bearer $(${kubectl} create token kidp-metrics -n kidp-system)" ${url}/metrics`,
    '',
  ];
}

/** `rolloutsToTry` lists the commands that need Helm. */
export function rolloutsToTry(kubectl: string, kubeconfig: string): string[] {
  return [
    '  # an operator from a Helm chart, rolled out to this cluster',
    `  ${kubectl} apply -f examples/rollout/operator.yaml`,
    `  ${kubectl} apply -f examples/rollout/first.yaml`,
    `  npx kidp rollout watch greeter-first --kubeconfig ${kubeconfig}`,
    '',
    '  # a rollout whose pods cannot be scheduled: rolled back automatically',
    `  ${kubectl} apply -f examples/rollout/nowhere.yaml`,
    `  npx kidp rollout watch greeter-nowhere --kubeconfig ${kubeconfig}`,
    '',
  ];
}
