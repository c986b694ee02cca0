/**
 * Typical policy expressions with their expected results. A group shares one request; the real API server evaluates
 * every row (policy-expressions.test.ts), so the expectations are verified.
 */

/** `invalid` means that the policy is rejected when it is created. */
export type Outcome = 'true' | 'false' | 'error' | 'invalid';
export type Row = readonly [expression: string, outcome: Outcome, reason: string];

export interface Group {
  readonly name: string;
  readonly object: KubernetesObject;
  /** The stored object that `object` replaces; if absent, the request is a CREATE. */
  readonly oldObject?: KubernetesObject;
  /** The data of a ConfigMap. */
  readonly params?: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
}

interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: object;
    readonly annotations?: object;
    readonly finalizers?: readonly string[];
  };
  readonly [field: string]: unknown;
}

const pod = (spec: object, metadata: object = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', ...metadata },
  spec,
});

const hardened = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

export const groups: readonly Group[] = [
  {
    name: 'a hardened pod',
    object: pod(
      {
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, fsGroup: 2000 },
        containers: [
          {
            name: 'app',
            image: 'registry.example.com/team/app:1.4.2',
            securityContext: hardened,
            ports: [{ containerPort: 8080, name: 'http' }],
            resources: { requests: { cpu: '250m', memory: '64Mi' }, limits: { cpu: '500m', memory: '128Mi' } },
            env: [{ name: 'MODE', value: 'prod' }],
          },
          {
            name: 'sidecar',
            image:
              'registry.example.com/mesh/proxy@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
            securityContext: hardened,
            resources: { limits: { cpu: '100m', memory: '32Mi' } },
          },
        ],
      },
      {
        labels: { app: 'web', team: 'payments', 'app.kubernetes.io/version': '1.4.2' },
        annotations: { owner: 'alice@example.com' },
      },
    ),
    rows: [
      [
        "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
        'true',
        'images come from one registry',
      ],
      ["object.spec.containers.all(c, !c.image.endsWith(':latest'))", 'true', 'no floating tag'],
      ["object.spec.containers.all(c, c.image.contains('@sha256:'))", 'false', 'not every image is pinned by digest'],
      [
        "object.spec.containers.exists(c, c.image.matches('@sha256:[0-9a-f]{64}$'))",
        'true',
        'one image is pinned by digest',
      ],
      [
        "object.spec.containers.map(c, c.image.split('/')[0]).all(r, r in ['registry.example.com', 'mirror.example.com'])",
        'true',
        'registries of a list',
      ],
      ['object.spec.containers.all(c, has(c.resources.limits))', 'true', 'limits are set'],
      [
        'object.spec.containers.all(c, has(c.resources.requests))',
        'true',
        'the API server fills in requests from limits',
      ],
      [
        "object.spec.containers.all(c, c.resources.limits.all(k, k in ['cpu', 'memory']))",
        'true',
        'only known resources are limited',
      ],
      [
        "object.spec.containers.all(c, quantity(c.resources.limits.memory).isLessThan(quantity('1Gi')))",
        'true',
        'a bound on memory',
      ],
      [
        "object.spec.containers.all(c, quantity(c.resources.limits.cpu).compareTo(quantity('200m')) <= 0)",
        'false',
        'one container takes more cpu',
      ],
      [
        'object.spec.containers.map(c, quantity(c.resources.limits.memory).asInteger()).sum() == 167772160',
        'true',
        'memory of a pod summed up',
      ],
      [
        "quantity(object.spec.containers[0].resources.limits.memory).sub(quantity('64Mi')) == quantity('64Mi')",
        'true',
        'quantities are equal by value',
      ],
      [
        'quantity(object.spec.containers[0].resources.requests.memory).isGreaterThan(quantity(object.spec.containers[0].resources.limits.memory))',
        'false',
        'requests stay below limits',
      ],
      ['object.spec.containers.all(c, c.securityContext.runAsNonRoot)', 'true', 'restricted: not as root'],
      [
        'object.spec.containers.all(c, !c.securityContext.allowPrivilegeEscalation)',
        'true',
        'restricted: no escalation',
      ],
      [
        "object.spec.containers.all(c, 'ALL' in c.securityContext.capabilities.drop)",
        'true',
        'restricted: capabilities are dropped',
      ],
      [
        "object.spec.containers.all(c, !has(c.securityContext.capabilities.add) || c.securityContext.capabilities.add.all(a, a == 'NET_BIND_SERVICE'))",
        'true',
        'restricted: what may be added',
      ],
      [
        "object.spec.containers.all(c, c.securityContext.seccompProfile.type in ['RuntimeDefault', 'Localhost'])",
        'true',
        'restricted: seccomp',
      ],
      [
        'object.spec.containers.all(c, c.securityContext.?privileged.orValue(false) == false)',
        'true',
        'baseline: not privileged, absent is fine',
      ],
      [
        '!object.spec.?hostNetwork.orValue(false) && !object.spec.?hostPID.orValue(false)',
        'true',
        'baseline: no host namespaces',
      ],
      ['!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))', 'true', 'baseline: no host paths'],
      [
        'has(object.spec.automountServiceAccountToken) && !object.spec.automountServiceAccountToken',
        'true',
        'no token is mounted',
      ],
      ['object.spec.securityContext.fsGroup == 2000', 'true', 'an int of JSON is an int'],
      ['object.spec.securityContext.fsGroup == 2000.0', 'true', 'numbers are equal across types when one side is dyn'],
      [
        'object.spec.containers.all(c, c.securityContext.runAsUser > 0)',
        'error',
        'no such key, and nothing absorbs it',
      ],
      ['has(object.spec.runtimeClassName)', 'false', 'absent'],
      ['object.spec.runtimeClassName == "gvisor"', 'error', 'no such key'],
      ['object.spec.?runtimeClassName.orValue("runc") == "runc"', 'true', 'absent with a default'],
      ['object.spec.containers.filter(c, has(c.ports)).size() == 1', 'true', 'filter and size'],
      ["object.spec.containers.exists_one(c, c.name == 'sidecar')", 'true', 'exactly one sidecar'],
      [
        "object.spec.containers.exists(c, c.env.exists(e, e.name == 'MODE'))",
        'true',
        'found before the container without env is met',
      ],
      ["object.spec.containers.all(c, c.env.all(e, e.value != ''))", 'error', 'the second container has no env'],
      ['object.spec.containers.all(c, !has(c.env) || c.env.all(e, e.value.size() < 100))', 'true', 'guarded by has'],
      [
        "'team' in object.metadata.labels && object.metadata.labels['team'].matches('^[a-z]+$')",
        'true',
        'a label that must be there and well-formed',
      ],
      ["object.metadata.labels.team == 'payments'", 'true', 'a label as a field'],
      ["object.metadata.labels['app.kubernetes.io/version'] == '1.4.2'", 'true', 'a label whose name is no identifier'],
      ["object.metadata.labels.exists(k, k.startsWith('app.kubernetes.io/'))", 'true', 'walks over keys'],
      ["object.metadata.labels.all(k, v, v != '')", 'true', 'walks over keys and values'],
      ["object.metadata.labels.transformMap(k, v, v.upperAscii())['team'] == 'PAYMENTS'", 'true', 'transformMap'],
      [
        "object.metadata.labels.transformList(k, v, k + '=' + v).sort() == ['app.kubernetes.io/version=1.4.2', 'app=web', 'team=payments']",
        'true',
        'transformList and sort',
      ],
      ["object.metadata.labels.transformMapEntry(k, v, {v: k})['web'] == 'app'", 'true', 'keys and values exchanged'],
      [
        "object.metadata.labels.owner == 'x' || object.metadata.labels.team == 'payments'",
        'true',
        'an error on the left is absorbed',
      ],
      [
        "object.metadata.labels.team == 'payments' || object.metadata.labels.owner == 'x'",
        'true',
        'the right side is not needed',
      ],
      [
        "object.metadata.labels.owner == 'x' && object.metadata.labels.team == 'other'",
        'false',
        'false wins over an error',
      ],
      [
        "object.metadata.labels.owner == 'x' && object.metadata.labels.team == 'payments'",
        'error',
        'true does not absorb an error in a conjunction',
      ],
      ["object.metadata.annotations.owner.find('[a-z]+@') == 'alice@'", 'true', 'find'],
      ["object.metadata.annotations.owner.findAll('[aeiou]').size() == 7", 'true', 'findAll'],
      [
        "object.metadata.annotations.owner.lowerAscii().replace('@', ' at ').split(' at ') == ['alice', 'example.com']",
        'true',
        'a chain of string functions',
      ],
      [
        "semver(object.metadata.labels['app.kubernetes.io/version']).isGreaterThan(semver('1.4.1'))",
        'true',
        'versions compared as versions',
      ],
      ["semver('v1.4', true).major() == 1 && isSemver('1.4') == false", 'true', 'loose and strict versions'],
      ['object.spec.containers.map(c, c.name).isSorted()', 'true', 'isSorted'],
      [
        "object.spec.containers.map(c, c.name).indexOf('sidecar') == 1 && object.spec.containers.map(c, c.name).lastIndexOf('nobody') == -1",
        'true',
        'indexOf and lastIndexOf of lists',
      ],
      ["sets.contains(['app', 'sidecar', 'init'], object.spec.containers.map(c, c.name))", 'true', 'sets.contains'],
      ["sets.intersects(object.spec.containers.map(c, c.name), ['debug'])", 'false', 'sets.intersects'],
      [
        'object.spec.containers.map(c, c.name).distinct().size() == object.spec.containers.size()',
        'true',
        'names are unique',
      ],
      ["object.spec.containers.sortBy(c, c.name).map(c, c.name)[0] == 'app'", 'true', 'sortBy'],
      [
        "object.spec.containers[?5].optMap(c, c.name).orValue('none') == 'none'",
        'true',
        'an index that may be past the end',
      ],
      ["object.spec.containers[5].name == 'x'", 'error', 'index out of bounds'],
      [
        "object.spec.containers.first().value().name == 'app' && object.spec.containers.last().value().name == 'sidecar'",
        'true',
        'first and last',
      ],
      ["object.?metadata.?labels[?'team'].orValue('') == 'payments'", 'true', 'a chain of optionals'],
      ["object.?metadata.?labels[?'nope'].hasValue()", 'false', 'a chain that breaks off'],
      ['optional.none().value() == 1', 'error', 'no value in none'],
      ['type(object.spec.containers) == list && type(object.spec) == map', 'true', 'types of JSON'],
      ['type(object.spec.containers[0].ports[0].containerPort) == int', 'true', 'a whole number of JSON is an int'],
      [
        'object.spec.containers[0].ports.all(p, p.containerPort >= 1024 && p.containerPort <= 65535)',
        'true',
        'unprivileged ports',
      ],
      [
        'format.dns1123Label().validate(object.metadata.name).hasValue()',
        'false',
        'validate has a value only when something is wrong',
      ],
      [
        "!format.named('dns1123Subdomain').value().validate('Not_A_Subdomain').hasValue()",
        'false',
        'errors are reported',
      ],
      [
        "'%s runs %d containers'.format([object.metadata.name, object.spec.containers.size()]) == 'web runs 2 containers'",
        'true',
        'messages are built with format',
      ],
      ["string(object.spec.containers.size()) + ' ' + string(true) == '2 true'", 'true', 'conversions to string'],
      ["int('12') + int(2.9) == 14", 'true', 'conversions to int cut off'],
      ["int('x') == 1", 'invalid', 'a conversion of a literal is folded, and so fails when it is written'],
      ['int(object.metadata.name) == 1', 'error', 'a conversion that fails'],
      ['9223372036854775807 + 1 > 0', 'error', 'overflow is an error, not a wrap'],
      ['object.spec.containers.size() / 0 == 1', 'error', 'division by zero'],
      ['7 / 2 == 3 && -7 / 2 == -3 && -7 % 2 == -1', 'true', 'integer division truncates'],
      ["'abc' < 'abd' && b'a' < b'b' && true > false", 'true', 'orders'],
      ["object.metadata.name.size() == 3 && '👍'.size() == 1", 'true', 'sizes count code points'],
      [
        'object.metadata.creationTimestamp == null || type(object.metadata.creationTimestamp) == string',
        'true',
        'times of JSON are strings',
      ],
      ["duration('1h30m') > duration('80m') && duration('90m').getMinutes() == 90", 'true', 'durations'],
      ["timestamp('2024-02-29T00:00:00Z').getDayOfYear() == 59", 'true', 'parts of timestamps'],
      ["timestamp('2024-03-31T01:30:00Z').getHours('Europe/Berlin') == 3", 'true', 'time zones know summer time'],
    ],
  },
  {
    name: 'a pod that asks for everything',
    object: pod({
      hostNetwork: true,
      hostPID: true,
      containers: [
        {
          name: 'root',
          image: 'docker.io/library/busybox',
          securityContext: { privileged: true, capabilities: { add: ['SYS_ADMIN', 'NET_ADMIN'] }, runAsUser: 0 },
          ports: [{ containerPort: 80, hostPort: 80 }],
          volumeMounts: [{ name: 'host', mountPath: '/host' }],
        },
      ],
      initContainers: [{ name: 'setup', image: 'docker.io/library/alpine:latest', command: ['sh', '-c', 'true'] }],
      volumes: [{ name: 'host', hostPath: { path: '/' } }],
      tolerations: [{ operator: 'Exists' }],
    }),
    rows: [
      ['object.spec.containers.all(c, !c.securityContext.?privileged.orValue(false))', 'false', 'privileged'],
      [
        '!(object.spec.?hostNetwork.orValue(false) || object.spec.?hostPID.orValue(false) || object.spec.?hostIPC.orValue(false))',
        'false',
        'host namespaces',
      ],
      ['object.spec.volumes.all(v, !has(v.hostPath))', 'false', 'a host path'],
      [
        "object.spec.volumes.filter(v, has(v.hostPath)).all(v, v.hostPath.path.startsWith('/var/log'))",
        'false',
        'a host path outside of what is allowed',
      ],
      [
        "(object.spec.containers + object.spec.initContainers).all(c, c.image.startsWith('registry.example.com/'))",
        'false',
        'init containers count too',
      ],
      [
        '(object.spec.containers + object.spec.?initContainers.orValue([]) + object.spec.?ephemeralContainers.orValue([])).size() == 2',
        'true',
        'lists that may be absent are joined',
      ],
      [
        "object.spec.containers.all(c, c.securityContext.?capabilities.?add.orValue([]).all(a, a in ['NET_BIND_SERVICE']))",
        'false',
        'forbidden capabilities',
      ],
      ['object.spec.containers.all(c, c.securityContext.?runAsUser.orValue(1) != 0)', 'false', 'runs as root'],
      ['object.spec.containers.all(c, c.?ports.orValue([]).all(p, !has(p.hostPort)))', 'false', 'a host port'],
      [
        'object.spec.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))',
        'false',
        'the same, with a default',
      ],
      [
        "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits)",
        'false',
        'no limits',
      ],
      [
        "object.spec.containers.all(c, c.?resources.?limits.?memory.optMap(m, quantity(m).isLessThan(quantity('1Gi'))).orValue(false))",
        'false',
        'no limit is not a low limit',
      ],
      ["object.spec.initContainers.exists(c, c.image.endsWith(':latest'))", 'true', 'a floating tag'],
      ["object.spec.containers.all(c, c.image.matches(':[^/]+$'))", 'false', 'no tag at all'],
      ["object.spec.tolerations.exists(t, !has(t.key) && t.operator == 'Exists')", 'true', 'tolerates everything'],
      ["object.spec.initContainers[0].command.join(' ') == 'sh -c true'", 'true', 'join'],
      ["'app' in object.?metadata.?labels.orValue({})", 'false', 'no labels at all'],
      [
        "object.spec.containers.exists(c, c.volumeMounts.exists(m, m.mountPath == '/host' && object.spec.volumes.exists(v, v.name == m.name && has(v.hostPath))))",
        'true',
        'three levels of loops',
      ],
      [
        "has(object.spec.serviceAccountName) && object.spec.serviceAccountName != 'default'",
        'false',
        'the default account',
      ],
      [
        "object.spec.dnsPolicy == 'ClusterFirst' && object.spec.restartPolicy == 'Always'",
        'true',
        'a policy sees defaults',
      ],
    ],
  },
  {
    name: 'a deployment',
    object: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'shop', labels: { env: 'prod', 'cost-center': '4711' } },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'shop' } },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } },
        template: {
          metadata: { labels: { app: 'shop' } },
          spec: {
            containers: [
              { name: 'shop', image: 'shop:2', livenessProbe: { httpGet: { path: '/healthz', port: 'http' } } },
            ],
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: 'topology.kubernetes.io/zone',
                whenUnsatisfiable: 'DoNotSchedule',
                labelSelector: { matchLabels: { app: 'shop' } },
              },
            ],
          },
        },
      },
    },
    params: { maxReplicas: '5', registries: 'a.example.com,b.example.com', minimum: '1Gi' },
    rows: [
      ['object.spec.replicas <= 5', 'true', 'the classic'],
      ['object.spec.replicas <= int(params.data.maxReplicas)', 'true', 'a bound from a parameter'],
      ['object.spec.replicas > int(params.data.maxReplicas) * 2', 'false', 'arithmetic with a parameter'],
      [
        "params.data.registries.split(',').exists(r, object.spec.template.spec.containers[0].image.startsWith(r + '/'))",
        'false',
        'a list in a parameter',
      ],
      ["quantity(params.data.minimum).isLessThan(quantity('2Gi'))", 'true', 'a quantity in a parameter'],
      ["params.data.nothing == ''", 'error', 'a parameter that is not there'],
      ["params.?data.?nothing.orValue('default') == 'default'", 'true', 'a parameter with a default'],
      ["params.metadata.name != '' && params.kind == 'ConfigMap'", 'true', 'a parameter is a whole object'],
      ["object.metadata.labels.env != 'prod' || object.spec.replicas >= 3", 'true', 'an implication'],
      ["object.metadata.labels['cost-center'].matches('^[0-9]{4}$')", 'true', 'a well-formed label'],
      ["int(object.metadata.labels['cost-center']) % 2 == 1", 'true', 'a label as a number'],
      ['object.spec.selector.matchLabels == object.spec.template.metadata.labels', 'true', 'maps are equal by content'],
      [
        'object.spec.selector.matchLabels.all(k, object.spec.template.metadata.labels[k] == object.spec.selector.matchLabels[k])',
        'true',
        'the same in a loop',
      ],
      ['type(object.spec.strategy.rollingUpdate.maxSurge) == string', 'true', 'int-or-string: a string here'],
      [
        'type(object.spec.strategy.rollingUpdate.maxUnavailable) == int && object.spec.strategy.rollingUpdate.maxUnavailable == 1',
        'true',
        'int-or-string: an int here',
      ],
      ['object.spec.strategy.rollingUpdate.maxSurge > 1', 'error', 'no order between string and int'],
      [
        'object.spec.template.spec.containers.all(c, has(c.livenessProbe) && has(c.readinessProbe))',
        'false',
        'a probe is missing',
      ],
      [
        "object.spec.template.spec.containers.map(c, c.livenessProbe.httpGet.path) == ['/healthz']",
        'true',
        'lists are equal by content',
      ],
      [
        "object.spec.template.spec.topologySpreadConstraints.exists(t, t.topologyKey == 'topology.kubernetes.io/zone' && t.maxSkew <= 1)",
        'true',
        'spread over zones',
      ],
      ['object.spec.replicas in [1, 3, 5]', 'true', 'in a list'],
      ["object.spec.replicas in {3: 'x'}", 'true', 'in the keys of a map'],
      ['object.spec.replicas == 3u && object.spec.replicas < 3.5', 'true', 'numbers of all types compare'],
      ['object.spec.replicas + 0.5 > 3.0', 'error', 'numbers of two types do not add'],
      ['double(object.spec.replicas) + 0.5 > 3.0', 'true', 'unless they are converted'],
      ['[1, 2, 3].map(x, x * object.spec.replicas).max() == 9', 'true', 'max of a computed list'],
      ['lists.range(object.spec.replicas).all(i, i < 3)', 'true', 'lists.range'],
      ['[[1, 2], [3]].flatten().reverse().slice(0, 2) == [3, 2]', 'true', 'flatten, reverse, slice'],
      ['[1, 2, 3].all(i, v, i + 1 == v)', 'true', 'indices and values'],
      ["{'a': 1, 'b': 2}.exists(k, v, v == 2 && k == 'b')", 'true', 'keys and values'],
      [
        "request.operation == 'CREATE' && request.kind.kind == 'Deployment' && request.resource.resource == 'deployments'",
        'true',
        'what is asked for',
      ],
      ['request.dryRun', 'true', 'these requests are dry runs'],
      ["request.name == 'shop' && request.namespace == object.metadata.namespace", 'true', 'the name of the request'],
      ["'system:masters' in request.userInfo.groups", 'true', 'who asks'],
      ["request.userInfo.username.startsWith('system:serviceaccount:')", 'false', 'who does not ask'],
      ["has(request.subResource) && request.subResource != ''", 'false', 'no subresource'],
      ['oldObject == null', 'true', 'nothing was there before'],
      ['oldObject.spec.replicas == 1', 'error', 'null has no fields'],
      ['namespaceObject.metadata.name == request.namespace', 'true', 'the namespace as an object'],
      [
        "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == namespaceObject.metadata.name",
        'true',
        'a label of the namespace',
      ],
      [
        "'pod-security.kubernetes.io/enforce' in namespaceObject.metadata.labels",
        'false',
        'a label the namespace has not',
      ],
      [
        "authorizer.group('apps').resource('deployments').namespace('default').check('delete').allowed()",
        'true',
        'an administrator may',
      ],
      ["authorizer.requestResource.check('custom-verb').allowed()", 'true', 'the resource of the request'],
      ["authorizer.path('/healthz').check('get').allowed()", 'true', 'a path'],
      [
        "authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').namespace('default').check('get').allowed()",
        'false',
        'another account is denied',
      ],
      [
        "authorizer.serviceAccount('default', 'nobody').group('').resource('pods').subresource('exec').name('x').check('create').errored()",
        'false',
        'denied is not an error',
      ],
      [
        "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').labelSelector('app=b').check('list').allowed()",
        'true',
        'with selectors',
      ],
      [
        "authorizer.serviceAccount('', 'x').group('').resource('pods').check('get').allowed()",
        'error',
        'an account needs a namespace',
      ],
      ["authorizer.path('').check('get').allowed()", 'error', 'a path must not be empty'],
    ],
  },
  {
    name: 'anything a custom resource can hold',
    object: {
      apiVersion: 'cel.test.kidp.dev/v1',
      kind: 'Anything',
      metadata: { name: 'anything', finalizers: ['kidp.dev/one', 'kidp.dev/two'] },
      spec: {
        ip: '10.1.2.3',
        ip6: '2001:db8::1',
        cidrs: ['10.0.0.0/8', '192.168.0.0/16'],
        endpoint: 'https://api.example.com:8443/v1/things?limit=5&limit=6&q=a%20b',
        schedule: '*/5 * * * *',
        since: '2024-01-31T10:00:00Z',
        timeout: '1m30s',
        ratio: 0.75,
        whole: 4,
        big: 9007199254740991,
        negative: -3,
        empty: {},
        none: [],
        flag: true,
        nothing: 'null stays out of JSON patches',
        matrix: [
          [1, 2],
          [3, 4],
        ],
        mixed: [1, 'two', true, 2.5],
        users: [
          { name: 'ann', roles: ['admin', 'dev'] },
          { name: 'bob', roles: ['dev'] },
        ],
        nested: { a: { b: { c: { d: 'deep' } } } },
        'dashed-key': 'x',
        constructor: 'own',
        text: 'Grüße, 世界 👍',
        data: 'aGVsbG8=',
        namespace: 'reserved word',
      },
    },
    rows: [
      ['cidr(object.spec.cidrs[0]).containsIP(object.spec.ip)', 'true', 'an address in a network'],
      ['object.spec.cidrs.exists(c, cidr(c).containsIP(ip(object.spec.ip)))', 'true', 'in any of the networks'],
      ['object.spec.cidrs.all(c, cidr(c).prefixLength() <= 16)', 'true', 'networks are large'],
      [
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
        'true',
        'networks in networks',
      ],
      ['ip(object.spec.ip).family() == 4 && ip(object.spec.ip6).family() == 6', 'true', 'families'],
      ['ip(object.spec.ip).isLoopback() || ip(object.spec.ip).isLinkLocalUnicast()', 'false', 'not a local address'],
      ["isIP('10.0.0.256') || isCIDR('10.0.0.0')", 'false', 'not addresses'],
      ["ip('10.0.0.256').family() == 4", 'error', 'not an address'],
      ["ip.isCanonical('2001:DB8::1')", 'false', 'not written as it should be'],
      [
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && string(cidr('10.1.2.3/8').ip()) == '10.1.2.3'",
        'true',
        'masked',
      ],
      [
        "url(object.spec.endpoint).getScheme() == 'https' && url(object.spec.endpoint).getPort() == '8443'",
        'true',
        'parts of a URL',
      ],
      [
        "url(object.spec.endpoint).getHost() == 'api.example.com:8443' && url(object.spec.endpoint).getHostname().endsWith('.example.com')",
        'true',
        'hosts of a URL',
      ],
      ["url(object.spec.endpoint).getQuery() == {'limit': ['5', '6'], 'q': ['a b']}", 'true', 'the query of a URL'],
      ["url(object.spec.endpoint).getEscapedPath() == '/v1/things'", 'true', 'the path of a URL'],
      ["isURL('no url at all') || isURL('')", 'false', 'not URLs'],
      ["url(object.spec.schedule).getHost() == ''", 'error', 'not a URL'],
      ["object.spec.schedule.split(' ').size() == 5", 'true', 'a cron line has five fields'],
      ["timestamp(object.spec.since) < timestamp('2024-02-01T00:00:00Z')", 'true', 'a string as a timestamp'],
      [
        "timestamp(object.spec.since) + duration('24h') == timestamp('2024-02-01T10:00:00Z')",
        'true',
        'timestamps and durations add',
      ],
      [
        "timestamp(object.spec.since) - timestamp('2024-01-31T09:00:00Z') == duration('3600s')",
        'true',
        'timestamps subtract',
      ],
      [
        'timestamp(object.spec.since).getMonth() == 0 && timestamp(object.spec.since).getDate() == 31 && timestamp(object.spec.since).getDayOfWeek() == 3',
        'true',
        'months start at zero, dates at one, weeks at Sunday',
      ],
      [
        "duration(object.spec.timeout).getSeconds() == 90 && duration(object.spec.timeout) <= duration('2m')",
        'true',
        'a string as a duration',
      ],
      ['timestamp(object.spec.text).getHours() == 1', 'error', 'not a timestamp'],
      ["object.spec.since < '2024-02'", 'true', 'strings compare as strings'],
      ['type(object.spec.ratio) == double && object.spec.ratio * 4.0 == 3.0', 'true', 'a fraction is a double'],
      ['object.spec.ratio * object.spec.whole > 1.0', 'error', 'double times int has no overload'],
      ['object.spec.big + 2 == 9007199254740993', 'true', 'past what a double holds'],
      ['object.spec.whole == 4.0 && object.spec.whole / 3 == 1', 'true', 'int stays int'],
      ['object.spec.negative < 0u', 'true', 'int and uint compare by value'],
      ['uint(object.spec.negative) == 3u', 'error', 'a negative number is no uint'],
      ['object.spec.empty == {} && object.spec.none == [] && size(object.spec.empty) == 0', 'true', 'empty ones'],
      ['object.spec.none.max() == 1', 'error', 'an empty list has no maximum'],
      ['object.spec.matrix.map(row, row.sum()) == [3, 7]', 'true', 'sums of rows'],
      ['object.spec.matrix.all(i, row, row.all(j, v, v == i * 2 + j + 1))', 'true', 'two loops with indices'],
      ['object.spec.matrix.flatten().min() == 1', 'true', 'flatten of dyn'],
      [
        "object.spec.mixed.exists(x, x == 'two') && object.spec.mixed.exists(x, x == 2.5)",
        'true',
        'a list of many types',
      ],
      ['object.spec.mixed.all(x, x > 0)', 'error', 'a string is not greater than a number'],
      ['object.spec.mixed.exists(x, x > 0)', 'true', 'the first hit makes up for what fails'],
      ['object.spec.mixed.filter(x, type(x) == int) == [1]', 'true', 'filter by type'],
      ["object.spec.users.exists(u, u.name == 'ann' && 'admin' in u.roles)", 'true', 'users and roles'],
      ["object.spec.users.filter(u, 'dev' in u.roles).map(u, u.name) == ['ann', 'bob']", 'true', 'filter then map'],
      ["object.spec.users.map(u, 'admin' in u.roles, u.name) == ['ann']", 'true', 'map with a filter'],
      [
        "object.spec.users.all(u, u.roles.size() > 0 && u.roles.all(r, r in ['admin', 'dev', 'ops']))",
        'true',
        'roles of a list',
      ],
      [
        "object.spec.nested.a.b.c.d == 'deep' && object.spec.?nested.?a.?x.?y.orValue('none') == 'none'",
        'true',
        'deep',
      ],
      ['has(object.spec.nested.a.b.x)', 'false', 'has of a deep path'],
      ['has(object.spec.nested.x.y.z)', 'error', 'has only guards the last step'],
      ["object.spec['dashed-key'] == 'x'", 'true', 'a key that is no identifier'],
      [
        "object.spec.constructor == 'own' && !has(object.spec.empty.constructor)",
        'true',
        'no prototype is ever reached',
      ],
      ["object.spec.toString == 'x'", 'error', 'no such key'],
      ['object.spec.__proto__ == {}', 'error', 'no such key either'],
      ["object.spec.text.size() == 11 && object.spec.text.substring(7, 9) == '世界'", 'true', 'code points'],
      ["object.spec.text.charAt(10) == '👍' && object.spec.text.indexOf('世') == 7", 'true', 'code points again'],
      ["object.spec.text.upperAscii() == 'GRüßE, 世界 👍'", 'true', 'only ASCII letters'],
      ["object.spec.text.substring(12) == ''", 'error', 'past the end'],
      ['strings.quote(\'a"b\') == \'"a\\\\"b"\'', 'true', 'quote'],
      [
        `'%.2f %s %x %%'.format([object.spec.ratio, [1, 'a', true], 255]) == '0.75 [1, "a", true] ff %'`,
        'true',
        'the arguments of format may be of many types',
      ],
      ["'%.2f %x %%'.format([object.spec.ratio, dyn(255)]) == '0.75 ff %'", 'true', 'the same with dyn'],
      ["object.spec.data == 'aGVsbG8=' && !format.byte().validate(object.spec.data).hasValue()", 'true', 'base64'],
      ["object.spec.namespace == 'reserved word'", 'true', 'a reserved word is no reserved field in a dyn'],
      [
        "object.metadata.finalizers.size() == 2 && object.metadata.finalizers.all(f, f.startsWith('kidp.dev/'))",
        'true',
        'finalizers',
      ],
      ['(object.spec.flag ? true : object.spec.missing) == true', 'true', 'the other branch is not evaluated'],
      ['object.spec.flag ? true : object.spec.missing', 'invalid', 'a dyn is no bool'],
      ['(object.spec.flag ? 1 : 2) == 1', 'true', 'a condition as a value'],
      ['object.spec.whole ? true : false', 'error', 'a condition must be a bool'],
      ["object.spec.text.matches('^\\\\p{L}+, ')", 'true', 'RE2 knows letters of all scripts'],
      ["object.spec.text.matches('(?=x)')", 'invalid', 'RE2 has no look-ahead, and a literal pattern is checked'],
      ["'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')", 'false', 'in linear time'],
      ['object.spec.users.map(u, u.name).map(n, n + 1) == []', 'error', 'string plus int, found when it runs'],
      ["'a' + 1 == 'a1'", 'invalid', 'string plus int, found when it is written'],
      ['objekt.spec.replicas == 1', 'invalid', 'no such variable'],
      ['object.spec.replicas ==', 'invalid', 'not an expression'],
      ['object.spec.ip.startsWith(1)', 'invalid', 'no such overload'],
      ["'not a bool'", 'invalid', 'a validation must be a bool'],
      ["duration('1 year') > duration('1h')", 'invalid', 'a literal duration is checked'],
      ["timestamp('yesterday') > timestamp('2024-01-01T00:00:00Z')", 'invalid', 'a literal timestamp is checked'],
      ["{'a': 1, 'b': 'x'}.size() == 2", 'invalid', 'the values of a map literal must be of one type'],
      ['request.kidn.kind == "Pod"', 'invalid', 'request has declared fields'],
      ['cel.bind(x, 1, x == 1)', 'invalid', 'Kubernetes has no cel.bind'],
      ['math.greatest(1, 2) == 2', 'invalid', 'nor math'],
      ["base64.decode('aGVsbG8=') == b'hello'", 'invalid', 'nor base64'],
    ],
  },
  {
    name: 'an update of a config map',
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'settings',
        labels: { tier: 'gold' },
        annotations: { 'change-reason': 'TICKET-42 raise the limit' },
      },
      data: { limit: '20', mode: 'fast', 'new.key': 'x' },
    },
    oldObject: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', labels: { tier: 'gold' } },
      data: { limit: '10', mode: 'slow', old: 'y' },
    },
    rows: [
      ["request.operation == 'UPDATE' && oldObject != null", 'true', 'an update'],
      ['object.metadata.labels == oldObject.metadata.labels', 'true', 'labels do not change'],
      ['object.metadata.labels.tier == oldObject.metadata.labels.tier', 'true', 'an immutable label'],
      ['oldObject.data.all(k, k in object.data)', 'false', 'a key was removed'],
      ["oldObject.data.filter(k, !(k in object.data)) == ['old']", 'true', 'which one'],
      ["object.data.filter(k, !(k in oldObject.data)) == ['new.key']", 'true', 'what was added'],
      [
        "object.data.transformList(k, v, k in oldObject.data && oldObject.data[k] != v, k).sort() == ['limit', 'mode']",
        'true',
        'what was changed',
      ],
      ['int(object.data.limit) <= int(oldObject.data.limit) * 2', 'true', 'not more than twice'],
      ["object.metadata.annotations['change-reason'].matches('^[A-Z]+-[0-9]+ ')", 'true', 'a reason is given'],
      ['has(oldObject.metadata.annotations)', 'false', 'there were none'],
      ["oldObject.metadata.annotations['change-reason'] == ''", 'error', 'no such key'],
      ["oldObject.?metadata.?annotations[?'change-reason'].orValue('') == ''", 'true', 'unless it is optional'],
      ['object.metadata.uid == oldObject.metadata.uid', 'true', 'the same object'],
      [
        "object.data['new.key'] == 'x' && object.data[?'absent'].optMap(v, v == 'x').orValue(true)",
        'true',
        'optMap over an index',
      ],
      [
        "object.data.?mode.optFlatMap(m, oldObject.data.?mode.optMap(o, m + '<' + o)).value() == 'fast<slow'",
        'true',
        'optFlatMap',
      ],
      ["[?object.data.?mode, ?object.data.?absent] == ['fast']", 'true', 'optional elements'],
      ["{?'mode': object.data.?mode, ?'absent': object.data.?absent} == {'mode': 'fast'}", 'true', 'optional entries'],
      [
        "optional.ofNonZeroValue('').hasValue() || optional.of('').orValue('x') == 'x'",
        'false',
        'of and ofNonZeroValue',
      ],
      ["object.data.?absent.or(object.data.?mode).value() == 'fast'", 'true', 'or'],
    ],
  },
];
