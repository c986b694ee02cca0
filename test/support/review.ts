/** An AdmissionReview as an API server sends it, by default for a change of a Database. */
export const reviewUid = '705ab4f5-6393-11e8-b7cc-42010a800002';

export const admissionReview = (over: object = {}) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: reviewUid,
    kind: { group: 'platform.company.com', version: 'v1', kind: 'Database' },
    resource: { group: 'platform.company.com', version: 'v1', resource: 'databases' },
    name: 'orders',
    namespace: 'team-backend',
    operation: 'UPDATE',
    userInfo: { username: 'ada', groups: ['system:authenticated'] },
    dryRun: false,
    options: { apiVersion: 'meta.k8s.io/v1', kind: 'UpdateOptions' },
    ...over,
  },
});

/** A Database of a Team, as `object` or `oldObject` of it. */
export const reviewedDatabase = (team: string, enabled = true) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  metadata: { name: 'orders', namespace: 'team-backend', labels: { a: 'b' } },
  spec: { owner: { kind: 'Team', name: team }, backup: { enabled }, size: 'small' },
});
