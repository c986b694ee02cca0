/** Every kind of change there is. The list is closed: a change that fits none of it is a defect. */
export const changeKinds = ['field-added', 'field-removed'] as const;

export type ChangeKind = (typeof changeKinds)[number];
