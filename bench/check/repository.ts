/**
 * A repository as teams have them: 1,000 objects in 500 files, 100 policies of two rules, and some objects that violate
 * them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const objectCount = 1000;
export const policyCount = 100;

/** Every `violating`th Deployment breaks rules; 0: none does. */
export function writeRepository(directory: string, violating: number): void {
  for (const folder of ['policies', 'manifests']) mkdirSync(join(directory, folder), { recursive: true });
  for (let number = 0; number < policyCount; number += 1) {
    writeFileSync(join(directory, 'policies', `policy-${number}.yaml`), policy(number));
  }
  for (let number = 0; number < objectCount / 2; number += 1) {
    const wrong = violating > 0 && number % violating === 0;
    writeFileSync(
      join(directory, 'manifests', `app-${number}.yaml`),
      `${deployment(number, wrong)}---\n${service(number)}`,
    );
  }
}

/** Half of the policies match the objects, half match other namespaces. Each has its own expression. */
const policy = (number: number): string => `apiVersion: platform.company.com/v1
kind: Policy
metadata:
  name: policy-${number}
spec:
  selector:
    resourceTypes: [apps/v1/Deployment]
    namespaces: ["${number % 2 === 0 ? 'team-*' : `other-${number}`}"]
  rules:
  - name: registry
    expression: object.spec.template.spec.containers.all(c, c.image.startsWith("registry.example.com/") && c.image != "registry.example.com/banned-${number}")
    message: Images come from registry.example.com.
  - name: limits
    expression: object.spec.template.spec.containers.all(c, has(c.resources.limits) && has(c.resources.limits.memory)) && object.spec.replicas < ${100 + number}
    message: Set a memory limit.
`;

const deployment = (number: number, wrong: boolean): string => `# The application number ${number}.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-${number}
  namespace: team-${number % 20}
  labels:
    app.kubernetes.io/name: app-${number}
    app.kubernetes.io/part-of: shop
    environment: production
  annotations:
    example.com/description: "the application number ${number}"
spec:
  replicas: ${(number % 5) + 1}
  selector:
    matchLabels:
      app.kubernetes.io/name: app-${number}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: app-${number}
    spec:
      serviceAccountName: app-${number}
      containers:
      - name: main
        image: ${wrong ? 'docker.io' : 'registry.example.com'}/app-${number}:1.${number}.0
        ports:
        - {containerPort: 8080, name: http}
        env:
        - name: LOG_LEVEL
          value: info
        - name: DATABASE_URL
          valueFrom:
            secretKeyRef: {name: database-${number}, key: url}
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits: {memory: 256Mi}
        securityContext:
          runAsNonRoot: true
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
        livenessProbe:
          httpGet: {path: /healthz, port: http}
          periodSeconds: 10
      - name: proxy
        image: registry.example.com/proxy:2.0.0
        args: ["--listen", "0.0.0.0:9090", "--upstream", "127.0.0.1:8080"]
        resources:
          limits: {memory: 64Mi}
`;

const service = (number: number): string => `apiVersion: v1
kind: Service
metadata:
  name: app-${number}
  namespace: team-${number % 20}
  labels:
    app.kubernetes.io/name: app-${number}
spec:
  selector:
    app.kubernetes.io/name: app-${number}
  ports:
  - name: http
    port: 80
    targetPort: http
`;
