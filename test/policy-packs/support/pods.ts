/** Pods that pass and violate every control of the Pod Security Standards, with the controls that each violates. */
import type { Json } from '../../../src/policy/index.ts';

export interface PodCase {
  readonly reason: string;
  readonly spec: Json;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Controls of the baseline pack. */
  readonly baseline?: readonly string[];
  /** Controls of the restricted pack, besides those of baseline. */
  readonly restricted?: readonly string[];
}

const HARD = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
const CONTAINER = { name: 'web', image: 'web', securityContext: HARD };
const POD = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };

/** Returns a pod that complies with every rule, except for the given fields. */
const pod = (spec: Json = {}): Json => ({ securityContext: POD, containers: [CONTAINER], ...spec });
const withPod = (securityContext: Json, more: Json = {}): Json =>
  pod({ securityContext: { ...POD, ...securityContext }, ...more });
const withContainer = (securityContext: Json, more: Json = {}): Json =>
  pod({ containers: [{ ...CONTAINER, securityContext: { ...HARD, ...securityContext }, ...more }] });
const withInit = (securityContext: Json, more: Json = {}): Json =>
  pod({ initContainers: [{ ...CONTAINER, name: 'first', securityContext: { ...HARD, ...securityContext }, ...more }] });
const withVolume = (source: Json): Json => pod({ volumes: [{ name: 'v', ...source }] });
const probe = (handler: Json): Json => withContainer({}, { livenessProbe: handler });
const hook = (handler: Json): Json => withContainer({}, { lifecycle: { postStart: handler } });
const http = (host?: string): Json => ({ httpGet: { port: 80, path: '/', ...(host === undefined ? {} : { host }) } });
const tcp = (host: string): Json => ({ tcpSocket: { port: 80, host } });

export const podCases: readonly PodCase[] = [
  { reason: 'keeps everything', spec: pod() },
  {
    reason: 'says nothing at all',
    spec: { containers: [{ name: 'web', image: 'web' }] },
    restricted: ['capabilities', 'non-root', 'privilege-escalation', 'seccomp'],
  },
  {
    reason: 'empty security contexts say nothing either',
    spec: { securityContext: {}, containers: [{ name: 'web', image: 'web', securityContext: {} }] },
    restricted: ['capabilities', 'non-root', 'privilege-escalation', 'seccomp'],
  },

  { reason: 'network of the node', spec: pod({ hostNetwork: true }), baseline: ['host-namespaces'] },
  { reason: 'processes of the node', spec: pod({ hostPID: true }), baseline: ['host-namespaces'] },
  { reason: 'IPC of the node', spec: pod({ hostIPC: true }), baseline: ['host-namespaces'] },
  { reason: 'none of the three, said', spec: pod({ hostNetwork: false, hostPID: false, hostIPC: false }) },

  {
    reason: 'privileged',
    spec: withContainer({ privileged: true, allowPrivilegeEscalation: true }),
    baseline: ['privileged'],
    restricted: ['privilege-escalation'],
  },
  {
    reason: 'privileged init container',
    spec: withInit({ privileged: true, allowPrivilegeEscalation: true }),
    baseline: ['privileged'],
    restricted: ['privilege-escalation'],
  },
  { reason: 'not privileged, said', spec: withContainer({ privileged: false }) },

  {
    reason: 'adds CHOWN',
    spec: withContainer({ capabilities: { drop: ['ALL'], add: ['CHOWN'] } }),
    restricted: ['capabilities'],
  },
  {
    reason: 'adds NET_BIND_SERVICE',
    spec: withContainer({ capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }),
  },
  {
    reason: 'adds NET_ADMIN',
    spec: withContainer({ capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
    baseline: ['capabilities'],
    restricted: ['capabilities'],
  },
  {
    reason: 'adds ALL',
    spec: withContainer({ capabilities: { drop: ['ALL'], add: ['ALL'] } }),
    baseline: ['capabilities'],
    restricted: ['capabilities'],
  },
  {
    reason: 'adds CHOWN by the name that the kernel has for it',
    spec: withContainer({ capabilities: { drop: ['ALL'], add: ['CAP_CHOWN'] } }),
    baseline: ['capabilities'],
    restricted: ['capabilities'],
  },
  {
    reason: 'drops only KILL',
    spec: withContainer({ capabilities: { drop: ['KILL'] } }),
    restricted: ['capabilities'],
  },
  {
    reason: 'drops all in small letters',
    spec: withContainer({ capabilities: { drop: ['all'] } }),
    restricted: ['capabilities'],
  },
  { reason: 'drops ALL among others', spec: withContainer({ capabilities: { drop: ['KILL', 'ALL'] } }) },
  {
    reason: 'an init container adds SYS_ADMIN',
    spec: withInit({ capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } }),
    baseline: ['capabilities'],
    restricted: ['capabilities'],
  },

  {
    reason: 'hostPath',
    spec: withVolume({ hostPath: { path: '/var/log' } }),
    baseline: ['host-path-volumes'],
    restricted: ['volume-types'],
  },
  { reason: 'NFS', spec: withVolume({ nfs: { server: 'nas', path: '/' } }), restricted: ['volume-types'] },
  {
    reason: 'iSCSI',
    spec: withVolume({ iscsi: { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:a', lun: 0 } }),
    restricted: ['volume-types'],
  },
  { reason: 'a volume that does not say what it is', spec: withVolume({}) },
  {
    reason: 'every volume that is allowed',
    spec: pod({
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', configMap: { name: 'x' } },
        { name: 'c', secret: { secretName: 'x' } },
        { name: 'd', downwardAPI: { items: [] } },
        { name: 'e', projected: { sources: [] } },
        { name: 'f', persistentVolumeClaim: { claimName: 'x' } },
        { name: 'g', csi: { driver: 'example.com' } },
        {
          name: 'h',
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
            },
          },
        },
        { name: 'i', image: { reference: 'example.com/data:1', pullPolicy: 'IfNotPresent' } },
      ],
    }),
  },

  {
    reason: 'a port of the node',
    spec: withContainer({}, { ports: [{ containerPort: 80, hostPort: 80 }] }),
    baseline: ['host-ports'],
  },
  {
    reason: 'a port of the node in an init container',
    spec: withInit({}, { ports: [{ containerPort: 80, hostPort: 80 }] }),
    baseline: ['host-ports'],
  },
  {
    reason: 'ports of its own',
    spec: withContainer({}, { ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 0 }] }),
  },

  { reason: 'a probe that names no host', spec: probe(http()) },
  { reason: 'a probe with an empty host', spec: probe(http('')) },
  { reason: 'a probe of another host', spec: probe(http('10.0.0.1')), baseline: ['host-probes'] },
  { reason: 'a probe of localhost', spec: probe(http('127.0.0.1')), baseline: ['host-probes'] },
  { reason: 'a probe over TCP of another host', spec: probe(tcp('10.0.0.1')), baseline: ['host-probes'] },
  {
    reason: 'the startup probe of a sidecar',
    spec: withInit({}, { restartPolicy: 'Always', startupProbe: http('10.0.0.1') }),
    baseline: ['host-probes'],
  },
  {
    reason: 'a readiness probe of another host',
    spec: withContainer({}, { readinessProbe: tcp('10.0.0.1') }),
    baseline: ['host-probes'],
  },
  { reason: 'a hook that asks itself', spec: hook(http()) },
  { reason: 'a hook that asks another host', spec: hook(http('10.0.0.1')), baseline: ['host-probes'] },
  {
    reason: 'a hook before the end that asks another host',
    spec: withContainer({}, { lifecycle: { preStop: http('10.0.0.1') } }),
    baseline: ['host-probes'],
  },

  {
    reason: 'no AppArmor for the pod',
    spec: withPod({ appArmorProfile: { type: 'Unconfined' } }),
    baseline: ['app-armor'],
  },
  {
    reason: 'no AppArmor for a container',
    spec: withContainer({ appArmorProfile: { type: 'Unconfined' } }),
    baseline: ['app-armor'],
  },
  { reason: 'AppArmor of the runtime', spec: withPod({ appArmorProfile: { type: 'RuntimeDefault' } }) },
  {
    reason: 'an AppArmor profile of the node',
    spec: withContainer({ appArmorProfile: { type: 'Localhost', localhostProfile: 'web' } }),
  },
  {
    reason: 'no AppArmor by annotation',
    spec: pod(),
    annotations: { 'container.apparmor.security.beta.kubernetes.io/web': 'unconfined' },
    baseline: ['app-armor'],
  },
  {
    reason: 'AppArmor by annotation',
    spec: pod(),
    annotations: { 'container.apparmor.security.beta.kubernetes.io/web': 'runtime/default' },
  },

  {
    reason: 'an SELinux type of the system',
    spec: withPod({ seLinuxOptions: { type: 'spc_t' } }),
    baseline: ['selinux'],
  },
  {
    reason: 'the same for a container',
    spec: withContainer({ seLinuxOptions: { type: 'spc_t' } }),
    baseline: ['selinux'],
  },
  { reason: 'an SELinux user', spec: withPod({ seLinuxOptions: { user: 'system_u' } }), baseline: ['selinux'] },
  { reason: 'an SELinux role', spec: withContainer({ seLinuxOptions: { role: 'system_r' } }), baseline: ['selinux'] },
  {
    reason: 'an SELinux type of containers',
    spec: withPod({ seLinuxOptions: { type: 'container_engine_t', level: 's0:c1' } }),
  },

  { reason: 'the usual /proc', spec: withContainer({ procMount: 'Default' }) },
  {
    reason: 'an open /proc with users of its own',
    spec: pod({
      hostUsers: false,
      containers: [{ ...CONTAINER, securityContext: { ...HARD, procMount: 'Unmasked' } }],
    }),
    restricted: ['proc-mount'],
  },

  {
    reason: 'no seccomp for the pod',
    spec: withPod({ seccompProfile: { type: 'Unconfined' } }),
    baseline: ['seccomp'],
    restricted: ['seccomp'],
  },
  {
    reason: 'no seccomp for the pod, some for the container',
    spec: {
      ...withContainer({ seccompProfile: { type: 'RuntimeDefault' } }),
      securityContext: { ...POD, seccompProfile: { type: 'Unconfined' } },
    },
    baseline: ['seccomp'],
    restricted: ['seccomp'],
  },
  {
    reason: 'no seccomp for a container',
    spec: withContainer({ seccompProfile: { type: 'Unconfined' } }),
    baseline: ['seccomp'],
    restricted: ['seccomp'],
  },
  {
    reason: 'seccomp for every container and not for the pod',
    spec: {
      ...withContainer({ seccompProfile: { type: 'Localhost', localhostProfile: 'web.json' } }),
      securityContext: { runAsNonRoot: true },
    },
  },
  {
    reason: 'seccomp for one container of two',
    spec: {
      securityContext: { runAsNonRoot: true },
      containers: [
        { ...CONTAINER, securityContext: { ...HARD, seccompProfile: { type: 'RuntimeDefault' } } },
        { ...CONTAINER, name: 'other' },
      ],
    },
    restricted: ['seccomp'],
  },

  { reason: 'a safe sysctl', spec: withPod({ sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '4096 87380 6291456' }] }) },
  {
    reason: 'another sysctl',
    spec: withPod({ sysctls: [{ name: 'kernel.msgmax', value: '65536' }] }),
    baseline: ['sysctls'],
  },

  {
    reason: 'gains privileges',
    spec: withContainer({ allowPrivilegeEscalation: true }),
    restricted: ['privilege-escalation'],
  },
  {
    reason: 'an init container gains privileges',
    spec: withInit({ allowPrivilegeEscalation: true }),
    restricted: ['privilege-escalation'],
  },

  { reason: 'may be root', spec: withPod({ runAsNonRoot: false }), restricted: ['non-root'] },
  {
    reason: 'the pod may be root, no container may',
    spec: { ...withContainer({ runAsNonRoot: true }), securityContext: { ...POD, runAsNonRoot: false } },
    restricted: ['non-root'],
  },
  { reason: 'a container may be root', spec: withContainer({ runAsNonRoot: false }), restricted: ['non-root'] },
  {
    reason: 'every container says that it is not root',
    spec: { ...withContainer({ runAsNonRoot: true }), securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
  },
  {
    reason: 'root among users of its own',
    spec: pod({ hostUsers: false, securityContext: { runAsUser: 0, seccompProfile: { type: 'RuntimeDefault' } } }),
  },
  {
    reason: 'users of the node, said',
    spec: withPod({ runAsUser: 0, runAsNonRoot: true }, { hostUsers: true }),
    restricted: ['non-root-user'],
  },
  { reason: 'the user 0 for the pod', spec: withPod({ runAsUser: 0 }), restricted: ['non-root-user'] },
  { reason: 'the user 0 for a container', spec: withContainer({ runAsUser: 0 }), restricted: ['non-root-user'] },
  { reason: 'another user', spec: withPod({ runAsUser: 1000 }) },

  {
    reason: 'Windows knows fewer of these',
    spec: {
      os: { name: 'windows' },
      securityContext: { runAsNonRoot: true },
      containers: [{ name: 'web', image: 'web' }],
    },
  },
  {
    reason: 'Windows as its administrator',
    spec: { os: { name: 'windows' }, containers: [{ name: 'web', image: 'web' }] },
    restricted: ['non-root'],
  },
  {
    reason: 'Windows on the node itself',
    spec: {
      os: { name: 'windows' },
      hostNetwork: true,
      securityContext: {
        runAsNonRoot: true,
        windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\LOCAL SERVICE' },
      },
      containers: [{ name: 'web', image: 'web' }],
    },
    baseline: ['host-namespaces', 'host-process'],
  },
];

export interface EphemeralCase {
  readonly reason: string;
  readonly securityContext: Json;
  readonly baseline?: readonly string[];
  readonly restricted?: readonly string[];
}

/** Ephemeral containers that are added to a running pod for debugging. */
export const ephemeralCases: readonly EphemeralCase[] = [
  { reason: 'keeps everything', securityContext: HARD },
  { reason: 'says nothing', securityContext: {}, restricted: ['capabilities', 'privilege-escalation'] },
  {
    reason: 'privileged',
    securityContext: { privileged: true },
    baseline: ['privileged'],
    restricted: ['capabilities', 'privilege-escalation'],
  },
  {
    reason: 'adds SYS_PTRACE',
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'], add: ['SYS_PTRACE'] } },
    baseline: ['capabilities'],
    restricted: ['capabilities'],
  },
];

/** The pod that ephemeral containers are added to. */
export const runningPod: Json = pod();
