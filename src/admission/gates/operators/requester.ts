/**
 * Who asked for a rollout: admission writes it into an annotation from the user of the request, whatever the manifest says, and it stays.
 * Approvals are never given by who asked, so this is what that rule stands on.
 */
import { GROUP, operatorDeployment, REQUESTED_BY_ANNOTATION } from '../../../api/index.ts';
import { type AdmissionRequest, isObject, type Json } from '../../review/decode.ts';
import { nothing } from '../../review/findings.ts';
import type { Gate, PlatformMutation } from '../gate.ts';

const isRollout = ({ kind, subResource, operation }: AdmissionRequest): boolean =>
  kind.group === GROUP &&
  kind.kind === operatorDeployment.kind &&
  subResource === undefined &&
  (operation === 'CREATE' || operation === 'UPDATE');

const annotationsOf = (object: Json | undefined): Json =>
  isObject(object?.metadata) && isObject(object.metadata.annotations) ? object.metadata.annotations : {};

/** Who it must say: who creates it, and from then on who it said. */
const requesterOf = ({ operation, oldObject, userInfo }: AdmissionRequest): string | undefined => {
  if (operation === 'CREATE') return userInfo?.username ?? '';
  const said = annotationsOf(oldObject)[REQUESTED_BY_ANNOTATION];
  return typeof said === 'string' ? said : undefined;
};

export function stampRequester(request: AdmissionRequest): PlatformMutation | undefined {
  const { object } = request;
  if (!isRollout(request) || object === undefined || !isObject(object.metadata)) return undefined;
  const requester = requesterOf(request);
  const annotations = annotationsOf(object);
  if (requester === undefined || annotations[REQUESTED_BY_ANNOTATION] === requester) return undefined;
  const path = `/metadata/annotations/${REQUESTED_BY_ANNOTATION.replaceAll('/', '~1')}`;
  const stamped = { ...annotations, [REQUESTED_BY_ANNOTATION]: requester };
  return {
    object: { ...object, metadata: { ...object.metadata, annotations: stamped } },
    patches: isObject(object.metadata.annotations)
      ? [{ op: 'add', path, value: requester }]
      : [{ op: 'add', path: '/metadata/annotations', value: stamped }],
    warnings: [],
  };
}

export const requesterGate: Gate = {
  name: 'operators',
  evaluate(request) {
    if (!isRollout(request) || request.object === undefined) return nothing;
    const requester = requesterOf(request);
    const said = annotationsOf(request.object)[REQUESTED_BY_ANNOTATION];
    if (said === requester || (requester === undefined && said === undefined)) return nothing;
    return {
      ...nothing,
      violations: [
        {
          gate: 'operators',
          code: 'RequesterForged',
          field: `metadata.annotations[${REQUESTED_BY_ANNOTATION}]`,
          message:
            requester === undefined
              ? 'who asked for this rollout was not written down when it was created, and cannot be written later'
              : `the one who asked for this rollout is "${requester}"`,
          next: 'Leave it out: it is written by itself',
        },
      ],
    };
  },
};
