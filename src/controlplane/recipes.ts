/** The recipes: which programs are built from which Go module. The modules are in `recipes/`. */

type AssetName =
  | 'kubernetes'
  | 'kubectl'
  | 'etcd'
  | 'kwok'
  | 'helm'
  | 'flux-source'
  | 'flux-kustomize'
  | 'node'
  | 'coredns'
  | 'pause';

export type KubernetesProgram = 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubectl';

export type Program =
  | KubernetesProgram
  | 'etcd'
  | 'etcdctl'
  | 'etcdutl'
  | 'kwok'
  | 'helm'
  | 'source-controller'
  | 'kustomize-controller'
  | 'kubelet'
  | 'kube-proxy'
  | 'coredns'
  | 'pause';

export interface Recipe {
  asset: string;
  version: string;
  /** Another recipe whose Go module is used. */
  sources?: AssetName;
  /** The package for `go build`: `.` for a main.go in the recipe, otherwise a package of the module. */
  package: string;
  /** `-X` linker settings: a variable of a package and its value. */
  variables: Readonly<Record<string, string>>;
  /** The linked file. */
  output: string;
  /** The names of the program, which selects its behaviour by the name it is called by. */
  programs: readonly string[];
  /** Files of the module that the programs need, copied into a folder beside them. */
  copies?: { module: string; files: readonly string[]; into: string };
  /** The disk space for modules and build cache of a first build. */
  gigabytes: number;
}

const kubernetesVersion = '1.36.3';
const kubernetesVariables = {
  'k8s.io/component-base/version.gitVersion': `v${kubernetesVersion}`,
  'k8s.io/component-base/version.gitMajor': '1',
  'k8s.io/component-base/version.gitMinor': '36',
};
const stage = 'kustomize/stage';

export const recipes: Readonly<Record<AssetName, Recipe>> = {
  kubernetes: {
    asset: 'kubernetes',
    version: kubernetesVersion,
    package: '.',
    variables: kubernetesVariables,
    output: 'kube',
    programs: ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'],
    gigabytes: 6,
  },
  // kubectl is separate from the servers: it starts for each command, in half the time without their initialization.
  kubectl: {
    asset: 'kubectl',
    version: kubernetesVersion,
    sources: 'kubernetes',
    package: 'k8s.io/kubernetes/cmd/kubectl',
    variables: kubernetesVariables,
    output: 'kubectl',
    programs: ['kubectl'],
    gigabytes: 1,
  },
  etcd: {
    asset: 'etcd',
    version: '3.6.16',
    package: '.',
    variables: {},
    output: 'etcd',
    programs: ['etcd', 'etcdctl', 'etcdutl'],
    gigabytes: 1,
  },
  kwok: {
    asset: 'kwok',
    version: '0.8.0',
    package: 'sigs.k8s.io/kwok/cmd/kwok',
    variables: { 'sigs.k8s.io/kwok/pkg/consts.Version': 'v0.8.0' },
    output: 'kwok',
    programs: ['kwok'],
    copies: {
      module: 'sigs.k8s.io/kwok',
      files: [
        `${stage}/node/fast/node-initialize.yaml`,
        `${stage}/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml`,
        `${stage}/pod/fast/pod-ready.yaml`,
        `${stage}/pod/fast/pod-complete.yaml`,
        `${stage}/pod/fast/pod-delete.yaml`,
        `${stage}/pod/chaos/pod-container-running-failed.yaml`,
        `${stage}/pod/chaos/pod-init-container-running-failed.yaml`,
      ],
      into: 'kwok-stages',
    },
    gigabytes: 2,
  },
  helm: {
    asset: 'helm',
    version: '4.3.1',
    package: 'helm.sh/helm/v4/cmd/helm',
    variables: { 'helm.sh/helm/v4/internal/version.version': 'v4.3.1' },
    output: 'helm',
    programs: ['helm'],
    gigabytes: 3,
  },
  'flux-source': {
    asset: 'flux-source',
    version: '1.7.3',
    package: 'github.com/fluxcd/source-controller',
    variables: {},
    output: 'source-controller',
    programs: ['source-controller'],
    copies: {
      module: 'github.com/fluxcd/source-controller',
      files: ['config/crd/bases/*.yaml'],
      into: 'source-controller-crds',
    },
    gigabytes: 4,
  },
  'flux-kustomize': {
    asset: 'flux-kustomize',
    version: '1.7.3',
    package: 'github.com/fluxcd/kustomize-controller',
    variables: {},
    output: 'kustomize-controller',
    programs: ['kustomize-controller'],
    copies: {
      module: 'github.com/fluxcd/kustomize-controller',
      files: ['config/crd/bases/*.yaml'],
      into: 'kustomize-controller-crds',
    },
    gigabytes: 4,
  },
  node: {
    asset: 'node',
    version: kubernetesVersion,
    package: '.',
    variables: kubernetesVariables,
    output: 'node',
    programs: ['kubelet', 'kube-proxy'],
    gigabytes: 2,
  },
  coredns: {
    asset: 'coredns',
    version: '1.14.2',
    package: '.',
    variables: {},
    output: 'coredns',
    programs: ['coredns'],
    gigabytes: 2,
  },
  // Static, because its image has nothing else.
  pause: {
    asset: 'pause',
    version: '1',
    package: '.',
    variables: {},
    output: 'pause',
    programs: ['pause'],
    gigabytes: 1,
  },
};

/** Returns the recipe of a program. */
export function recipeFor(program: string, among: Readonly<Record<string, Recipe>> = recipes): Recipe {
  const recipe = Object.values(among).find((each) => each.programs.includes(program));
  if (recipe === undefined) throw new RangeError(`no recipe makes ${program}`);
  return recipe;
}
