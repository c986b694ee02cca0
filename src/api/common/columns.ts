/** The printer columns that mean the same on every kind. */
import type { PrinterColumn } from '../kind.ts';

export const phaseColumn: PrinterColumn = {
  name: 'Phase',
  type: 'string',
  jsonPath: '.status.phase',
  description: 'Lifecycle phase.',
};

export const readyColumn: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  description: 'Status of the Ready condition.',
};

export const reasonColumn: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  description: 'Reason of the Ready condition.',
  priority: 1,
};

export const ownerColumn: PrinterColumn = {
  name: 'Owner',
  type: 'string',
  jsonPath: '.spec.owner.name',
  description: 'Team or Application that owns the object.',
};

const targetColumn: PrinterColumn = {
  name: 'Target',
  type: 'string',
  jsonPath: '.spec.targetRef.name',
  description: 'DeploymentTarget of the object.',
};

export const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation.',
};

/** The common columns of deployable kinds. Columns that are specific to a kind precede them. */
export const deployableColumns = [
  phaseColumn,
  readyColumn,
  ownerColumn,
  targetColumn,
  ageColumn,
  reasonColumn,
] as const;
