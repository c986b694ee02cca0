/** The columns of `kubectl get` that mean the same on every kind. */
import type { PrinterColumn } from '../kind.ts';

export const phaseColumn: PrinterColumn = {
  name: 'Phase',
  type: 'string',
  jsonPath: '.status.phase',
  description: 'Where it is in its life.',
};

export const readyColumn: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  description: 'Whether it can be used.',
};

export const reasonColumn: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  description: 'Why it is ready or not.',
  priority: 1,
};

export const ownerColumn: PrinterColumn = {
  name: 'Owner',
  type: 'string',
  jsonPath: '.spec.owner.name',
  description: 'The Team or Application that answers for it.',
};

const targetColumn: PrinterColumn = {
  name: 'Target',
  type: 'string',
  jsonPath: '.spec.targetRef.name',
  description: 'Where it is deployed.',
};

export const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'How long ago it was created.',
};

/** Before these stand the columns that tell one object of a deployable kind from another. */
export const deployableColumns = [
  phaseColumn,
  readyColumn,
  ownerColumn,
  targetColumn,
  ageColumn,
  reasonColumn,
] as const;
