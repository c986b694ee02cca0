/** Schemas and types that several routes share. */
import type { Condition } from '../../runtime/index.ts';
import { mostPerPage } from '../objects.ts';
import type { JsonSchema } from '../schemas.ts';

export const pageQuery: Readonly<Record<string, JsonSchema>> = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: mostPerPage,
    default: 100,
    description: 'The maximum number of objects on a page.',
  },
  continue: {
    type: 'string',
    maxLength: 2048,
    pattern: '^[A-Za-z0-9_-]*=*$',
    description: 'The token of the page: `continue` of the previous page.',
  },
};

export const prefix = '/api/v1';

/** Fields that a caller can set besides the spec. */
export interface Named {
  readonly name: string;
  readonly labels?: Record<string, string>;
}

export const metadataOf = ({ name, labels }: Named) => ({ name, ...(labels === undefined ? {} : { labels }) });

export const conditionOf = (status: object | undefined, type: string): Condition | undefined =>
  (status as { conditions?: readonly Condition[] } | undefined)?.conditions?.find((each) => each.type === type);
