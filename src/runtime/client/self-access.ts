/** Asks the API server what the user of a client may do. */
import type { KubernetesObject, Resource } from '../objects/index.ts';
import type { Client } from './client.ts';

/** A permission. Without a namespace it holds in all namespaces. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly namespace?: string;
}

interface AccessReview extends KubernetesObject {
  spec: { resourceAttributes: Right };
  status?: { allowed?: boolean };
}

const accessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};

export async function isAllowed(client: Client, right: Right): Promise<boolean> {
  const { status } = await client.create<AccessReview>(accessReviews, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: accessReviews.kind,
    // A review has no name, because it is answered and not stored.
    metadata: {} as AccessReview['metadata'],
    spec: { resourceAttributes: right },
  });
  return status?.allowed === true;
}
