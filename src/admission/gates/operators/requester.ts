/**
 * The requester of a rollout: admission records it in an annotation from the user of the request, whatever the manifest
 * says. It never changes. The rule that requesters cannot approve their own rollouts depends on it.
 */
import { GROUP, operatorDeployment, REQUESTED_BY_ANNOTATION } from '../../../api/index.ts';
import { plainName } from '../../../runtime/internal.ts';
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

/** Returns the required value: the creator on CREATE, the stored value afterwards. */
const requesterOf = ({ operation, oldObject, userInfo }: AdmissionRequest): string | undefined => {
  if (operation === 'CREATE') return plainName(userInfo?.username ?? '');
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
          code: 'RequesterMismatch',
          field: `metadata.annotations[${REQUESTED_BY_ANNOTATION}]`,
          message:
            requester === undefined
              ? 'the requester of this rollout was not recorded at its creation and cannot be set later'
              : `the requester of this rollout is "${requester}"`,
          next: 'Remove the annotation: admission sets it automatically',
        },
      ],
    };
  },
};
