/** The subject of a match: one request, with related objects looked up on first use. */
import { pluralOf } from '../native/plural.ts';
import type { AdmissionRequest, Json, Operation, RequestPart } from '../request.ts';
import type { World } from '../world.ts';
import { type Labels, labelsOf } from './labels.ts';

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

export class Subject {
  readonly request: AdmissionRequest;
  readonly world: World;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural in lower case; guessed like in Kubernetes if it is not known. */
  readonly resource: string;
  readonly subresource: string;
  readonly parentKind: string | undefined;
  readonly operation: Operation;
  readonly name: string;
  /** Empty for cluster-scoped objects; for a Namespace its own name, as for the selectors of Kubernetes. */
  readonly namespace: string;
  /** The objects that expressions see: the Pod of a workload controller's template, or the objects of the request. */
  readonly object: Json | null;
  readonly oldObject: Json | null;
  readonly unknown: readonly RequestPart[];
  readonly labels: Labels;
  readonly oldLabels: Labels | undefined;
  /** Whether it is in kube-system, in the platform's own namespace, or in one that the administrator has excluded. */
  readonly inSystemNamespace: boolean;
  readonly #systemNamespaces: readonly string[];
  #namespaceObject: Json | null | undefined;
  #asked = false;

  constructor(
    request: AdmissionRequest,
    world: World,
    object: Json | null,
    oldObject: Json | null,
    systemNamespaces: readonly string[],
  ) {
    this.request = request;
    this.#systemNamespaces = systemNamespaces;
    this.world = world;
    this.kind = request.kind.kind;
    this.subresource = request.subResource ?? '';
    // The kind of a subresource may differ (Scale, PodExecOptions): the resource identifies its parent.
    const type = request.resource ?? request.kind;
    this.group = type.group;
    this.version = type.version;
    this.resource = request.resource?.resource ?? pluralOf(request.kind.kind);
    this.parentKind = this.subresource === '' ? undefined : world.kindOf?.(this.group, this.version, this.resource);
    this.operation = request.operation;
    this.object = object;
    this.oldObject = oldObject;
    this.unknown = request.unknown ?? [];
    this.name = textOr(request.name, nameOf(object) || nameOf(oldObject));
    this.namespace = this.isNamespace ? this.name : textOr(request.namespace, namespaceOf(object ?? oldObject));
    this.labels = labelsOf(object);
    this.oldLabels = oldObject === null ? undefined : labelsOf(oldObject);
    this.inSystemNamespace = systemNamespaces.includes(this.namespace);
  }

  /** `withObjects` returns the subject as if these objects had been sent. */
  withObjects(object: Json | null, oldObject: Json | null): Subject {
    return new Subject(this.request, this.world, object, oldObject, this.#systemNamespaces);
  }

  /** `asPod` returns the subject as a request for a Pod. */
  asPod(): Subject {
    const kind = { group: '', version: 'v1', kind: 'Pod' };
    const request = { ...this.request, kind, resource: { group: '', version: 'v1', resource: 'pods' } };
    return new Subject(request, this.world, this.object, this.oldObject, this.#systemNamespaces);
  }

  get isNamespace(): boolean {
    return this.group === '' && this.resource === 'namespaces';
  }

  isUnknown(part: RequestPart): boolean {
    return this.unknown.includes(part);
  }

  /** The Namespace; null for cluster-scoped objects, undefined if it is not known. */
  get namespaceObject(): Json | null | undefined {
    if (!this.#asked) {
      this.#asked = true;
      this.#namespaceObject = this.#lookUp();
    }
    return this.#namespaceObject;
  }

  /** The Namespace object of the request; for a Namespace, itself: new, cached or deleted. */
  get ownNamespaceObject(): Json | null {
    return this.namespaceObject ?? this.object ?? this.oldObject;
  }

  #lookUp(): Json | null | undefined {
    if (this.namespace === '') return null;
    // The cache does not contain the object that is being written.
    if (this.isNamespace && this.operation !== 'DELETE' && this.subresource === '') return this.object;
    return this.world.namespace(this.namespace);
  }

  get serviceAccount(): string | undefined {
    const found = SERVICE_ACCOUNT.exec(textOr(this.request.userInfo?.username, ''));
    return found === null ? undefined : `${found[1]}/${found[2]}`;
  }
}

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise;

const nameOf = (object: Json | null): string => metadataText(object, 'name');
const namespaceOf = (object: Json | null): string => metadataText(object, 'namespace');

function metadataText(object: Json | null, field: string): string {
  const metadata = object?.metadata as Json | null | undefined;
  if (typeof metadata !== 'object' || metadata === null) return '';
  const value = metadata[field];
  return typeof value === 'string' ? value : '';
}
