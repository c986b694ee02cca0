/**
 * Background controllers for policies.
 *
 * In: a manager, the live policies. Out: the status of each Policy and PolicyException, a scan of existing objects, and
 * reports of its findings. Only the leader runs them. They must not know how requests are answered.
 */
import type { Registry } from 'prom-client';
import { type Policy, policy, replicaSelector } from '../../api/index.ts';
import { policySet, type TestReport, type TypeCheckReport } from '../../policy/index.ts';
import { type PolicyState, policyTestSteps, typeCheckSteps } from '../../policy/internal.ts';
import {
  annotationsChanged,
  type Controller,
  controllerManagedBy,
  generationChanged,
  keyOf,
  type Manager,
  type ObjectKey,
  type ReconcileContext,
  type Resource,
  type Result,
  type UnknownObject,
} from '../../runtime/index.ts';
import { inSlices, type Lease, leases } from '../../runtime/internal.ts';
import { type Configurations, uncovered } from './coverage.ts';
import { addExceptionReconciler } from './exceptions.ts';
import { nativePolicies } from './native.ts';
import { ReadAccess } from './read-access.ts';
import { Replicas } from './replicas.ts';
import type { ReportApi } from './report-kinds.ts';
import { ReportWriter } from './reports.ts';
import { type PolicyScan, Scanner, type ScannerOptions } from './scan.ts';
import { isSameStatus, statusOf } from './status.ts';
import { silentReplicas } from './sweep.ts';
import type { PolicyView } from './view.ts';

export { Replicas } from './replicas.ts';
export type { ReportApi } from './report-kinds.ts';
export { removeReports } from './reports.ts';
export type { PolicyScan } from './scan.ts';
export type { PolicyView } from './view.ts';

interface PolicyReconcilersOptions {
  readonly view: PolicyView;
  /** The namespace of the replica Leases. */
  readonly platformNamespace: string;
  /** The namespaces in which exceptions are honoured. */
  readonly exceptionNamespaces: readonly string[];
  /** The name of the webhook configurations. */
  readonly configurationName: string;
  /** Whether the webhook answers only an authenticated API server. */
  readonly authenticates: boolean;
  readonly scan?: Pick<ScannerOptions, 'periodMilliseconds' | 'settleMilliseconds'>;
  /** The limit of findings per report. */
  readonly maxResults?: number;
  /** The API group of the reports. */
  readonly reportApi?: ReportApi | undefined;
  readonly registry?: Registry | undefined;
  /** The period in which the read access of policies is checked. */
  readonly accessPeriodMilliseconds?: number | undefined;
}

export interface PolicyReconcilers {
  /** Scans everything again, soon. */
  rescan(): void;
  scanOf(policy: string): PolicyScan | undefined;
}

const registration = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false };
const webhooks: Readonly<Record<'mutate' | 'validate', Resource>> = {
  mutate: { ...registration, plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration' },
  validate: { ...registration, plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration' },
};
const fieldManager = 'kidp-policies';
/** The cache of this controller can be ahead of the live policies for a moment. */
const soon = { requeueAfterMilliseconds: 100 };
/** Replicas report within a second, and stop without notice. */
const whileNotReady = { requeueAfterMilliseconds: 2_000 };

/** `addPolicyReconcilers` adds all policy controllers to the manager before it starts. */
export function addPolicyReconcilers(manager: Manager, options: PolicyReconcilersOptions): PolicyReconcilers {
  const { view, platformNamespace, configurationName, maxResults } = options;
  const { client, leaderClient, log, clock } = manager;
  const replicaSelection = { namespace: platformNamespace, labelSelector: replicaSelector };
  const configurationSelection = { fieldSelector: `metadata.name=${configurationName}` };
  const reports = new ReportWriter({
    client: leaderClient,
    mapping: () => view.mapping,
    log,
    api: options.reportApi,
    ...(maxResults === undefined ? {} : { maxResults }),
  });
  const scanner: Scanner = new Scanner({
    client,
    view,
    log,
    clock,
    ...options.scan,
    native: nativePolicies(manager, () => scanner.refresh(), log),
    scanned: async ({ policies, reports: found, signal }) => {
      for (const name of policies) controller.enqueue({ name });
      const written = await reports.write(found, signal);
      if (written > 0) log.info('policy reports written', { written });
    },
  });
  const replicas = new Replicas();
  const examined = new Examinations(view);

  const reconcile = async ({ name }: ObjectKey, context: ReconcileContext): Promise<Result> => {
    const { read } = context;
    const object = await read.get<Policy>(policy.resource, { name });
    if (object === undefined) return examined.forget(name);
    const state = view.state(name);
    if (state === undefined || state.uid !== object.metadata.uid || state.generation !== object.metadata.generation) {
      return soon;
    }
    const { examination, tests } = await examined.of(state);
    const configurations: Configurations = {
      mutate: read.store<UnknownObject>(webhooks.mutate, configurationSelection).get({ name: configurationName }),
      validate: read.store<UnknownObject>(webhooks.validate, configurationSelection).get({ name: configurationName }),
    };
    const status = statusOf(
      {
        state,
        examination,
        tests,
        replicas: replicas.read(read.store<Lease>(leases, replicaSelection), clock.monotonic()),
        uncovered: state.policy === undefined ? undefined : uncovered(scopeOf(state), configurations, view.mapping),
        reports: { ...reports.kinds, available: reports.available },
        authenticates: options.authenticates,
        scan: scanner.result(name),
        unreadable: access.missing(name),
      },
      object.status,
      new Date(clock.now()),
    );
    if (!isSameStatus(object.status, status)) await writeStatus(object, status, context);
    return status.phase === 'pending' ? whileNotReady : undefined;
  };

  const all = () => manager.caches.store<Policy>(policy.resource).list().map(keyOf);
  const controller: Controller = controllerManagedBy(manager, 'policies')
    .for<Policy>(policy.resource, { predicates: [generationChanged] })
    .watches<Lease>(leases, all, { ...replicaSelection, predicates: [annotationsChanged] })
    .watches<UnknownObject>(webhooks.mutate, all, configurationSelection)
    .watches<UnknownObject>(webhooks.validate, all, configurationSelection)
    .withOptions({ maxConcurrentReconciles: 4, groupOf: () => '' })
    .complete(reconcile);

  const access = new ReadAccess({
    client,
    view,
    clock,
    log,
    registry: options.registry,
    periodMilliseconds: options.accessPeriodMilliseconds,
    policies: () => all().map(({ name }) => name),
    changed: (names, granted) => {
      for (const name of names) controller.enqueue({ name });
      if (granted) scanner.rescan();
    },
  });
  manager.add(access);

  const reviewExceptions = addExceptionReconciler(manager, options);
  manager.add({
    name: 'policy changes',
    leaderOnly: true,
    async start(signal) {
      const end = view.subscribe(({ what }) => {
        if (what === 'set') return reviewExceptions();
        for (const key of all()) controller.enqueue(key);
        // The writable report kinds and the kinds to scan may have changed.
        scanner.refresh();
      });
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      end();
    },
  });
  manager.add(scanner);
  manager.add(
    silentReplicas({
      client: leaderClient,
      reports: () => manager.caches.store<Lease>(leases, replicaSelection).list(),
      clock,
      log,
    }),
  );
  return { rescan: () => scanner.rescan(), scanOf: (name) => scanner.result(name) };
}

/** The scope that a policy must be registered for. */
const scopeOf = ({ policy: compiled }: PolicyState) =>
  compiled === undefined ? [] : policySet({ policies: [compiled] }).scope;

async function writeStatus(object: Policy, status: NonNullable<Policy['status']>, context: ReconcileContext) {
  const { name, resourceVersion } = object.metadata;
  const body = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    // The status was computed from this version: on another one a transition time could move although nothing changed.
    metadata: { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    status,
  };
  await context.client.apply(policy.resource, body, { subresource: 'status', fieldManager, force: true });
}

interface Examined {
  readonly examination: TypeCheckReport | undefined;
  readonly tests: TestReport | undefined;
}

/** The time limits of one test and of all tests of a policy. A Policy that was written without the webhook may exceed them. */
const testMilliseconds = 250;
const allTestsMilliseconds = 30_000;

/**
 * Type checks and tests of a policy, run once per generation; the checks again when the kinds of the cluster change.
 * They run one policy after the other and in slices, because the replica that leads answers reviews too.
 */
class Examinations {
  #last: Promise<unknown> = Promise.resolve();
  readonly #view: PolicyView;
  readonly #known = new Map<
    string,
    { generation: string; tests: TestReport; schemas: number; examination: TypeCheckReport }
  >();

  constructor(view: PolicyView) {
    this.#view = view;
  }

  of(state: PolicyState): Promise<Examined> {
    const examined = this.#last.then(() => this.#examine(state));
    this.#last = examined.catch(() => {});
    return examined;
  }

  async #examine({ model, name, policy: compiled, uid, generation: number }: PolicyState): Promise<Examined> {
    if (model === undefined || compiled === undefined) return { examination: undefined, tests: undefined };
    const generation = `${uid}/${number}`;
    const schemas = this.#view.schemaVersion;
    const known = this.#known.get(name);
    const same = known?.generation === generation;
    if (same && known.schemas === schemas) return known;
    const options = { coverage: false, deadline: Date.now() + allTestsMilliseconds, testMilliseconds };
    const tests = same ? known.tests : await inSlices(policyTestSteps(model, options));
    const examination = await inSlices(typeCheckSteps(model, this.#view.schemas()));
    const made = { generation, tests, schemas, examination };
    this.#known.set(name, made);
    return made;
  }

  forget(name: string): undefined {
    this.#known.delete(name);
  }
}
