/**
 * Decides whether a policy can match a resource type, by its selector or as a workload controller of the Pods that it
 * selects.
 */
import { controllerTypes } from '../engine/pods.ts';
import type { PolicyModel } from '../model.ts';
import type { Operation } from '../request.ts';
import { matchesType, type RequestType } from './types.ts';

export function policyMatchesType(model: PolicyModel, type: RequestType, operation: Operation): boolean {
  const { match, podControllers } = model;
  if (match.operations !== undefined && !match.operations.includes(operation)) return false;
  if (match.types === undefined || match.types.some((each) => matchesType(each, type, operation))) return true;
  if (podControllers === undefined) return false;
  return [...controllerTypes(podControllers).values()].flat().some((each) => matchesType(each, type, operation));
}
