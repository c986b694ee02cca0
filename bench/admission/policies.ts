/** The same policies for every contestant: two rules each, no two of them alike, about a Deployment that obeys them all. */

export const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'bench',
    namespace: 'default',
    labels: { app: 'bench', 'app.kubernetes.io/name': 'bench', team: 'backend' },
  },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'bench' } },
    template: {
      metadata: { labels: { app: 'bench' } },
      spec: {
        containers: ['web', 'proxy'].map((name) => ({
          name,
          image: `registry.example.com/bench/${name}:1.2.3`,
          ports: [{ containerPort: 8080 }],
          env: Array.from({ length: 8 }, (_, index) => ({ name: `SETTING_${index}`, value: `value ${index}` })),
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
          securityContext: { runAsNonRoot: true, allowPrivilegeEscalation: false },
        })),
      },
    },
  },
};

/** What both our Policies and native ones say. */
export function rulesOf(index: number): { name: string; expression: string; message: string }[] {
  return [
    {
      name: 'replicas',
      expression: `object.spec.replicas <= ${50 + index}`,
      message: `at most ${50 + index} replicas`,
    },
    {
      name: 'images',
      expression: `object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/') && c.name != 'forbidden-${index}')`,
      message: 'images come from our registry',
    },
  ];
}

export const matching = (index: number) =>
  policy(`matching-${index}`, { resourceTypes: ['apps/v1/Deployment'] }, index);

/** Half of them about another type, half about Deployments with a label that this one does not have. */
export const other = (index: number) =>
  policy(
    `other-${index}`,
    index % 2 === 0
      ? { resourceTypes: ['apps/v1/StatefulSet'] }
      : { resourceTypes: ['apps/v1/Deployment'], matchLabels: { tier: `tier-${index}` } },
    index,
  );

const policy = (name: string, selector: object, index: number) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name },
  spec: { selector, rules: rulesOf(index) },
});

/** A ValidatingAdmissionPolicy and its binding. */
export function native(index: number) {
  const name = `bench-${index}`;
  const policyObject = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['deployments'] },
        ],
      },
      validations: rulesOf(index).map(({ expression, message }) => ({ expression, message })),
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  };
  return { policy: policyObject, binding };
}
