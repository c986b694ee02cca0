/** How one object of the platform points at another: by owner, by name, by labels. */
import { choice, integer, list, map, object, set, text } from '../schema/index.ts';
import { objectName, shortName } from './patterns.ts';

const ownerFields = {
  kind: choice('The kind of the owner.', ['Team', 'Application']),
  name: objectName('The name of the owner.'),
  namespace: shortName(
    "The namespace of the owner. Left out, it is the object's own; a Team has none and needs none here.",
  ).optional(),
};

/** Who answers for an object: billing, lifecycle and approvals follow it. */
export const owner = object(
  'Who owns this: a Team, or an Application that in the end belongs to a Team. Billing, lifecycle and approvals follow the owner. It never changes after creation.',
  ownerFields,
);

/** The owner as the platform saw it when it first took charge of the object. */
export const recordedOwner = object(
  'The owner that was recorded when the platform took charge of this object. Should `spec.owner` ever differ from it, nothing is deployed any more.',
  ownerFields,
);

export const targetRef = object('Where to deploy: a DeploymentTarget.', {
  name: objectName('The name of the DeploymentTarget, for example `azure-westus2-prod`.'),
});

const labelValue = { maxLength: 63, pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$' };

export const matchLabels = map(
  'Labels that must all be there with exactly these values.',
  text('The value of the label.', labelValue),
  {
    maxProperties: 32,
  },
);

export const matchExpressions = list(
  'Requirements on labels that must all hold.',
  object('One requirement on one label.', {
    key: text('The key of the label.', { minLength: 1, maxLength: 317 }),
    operator: choice('How the label relates to the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: list('The values, for `In` and `NotIn` only.', text('A value.', labelValue), { maxItems: 64 }).optional(),
  }).rules({
    rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    message: 'give values with the operators In and NotIn, and none with Exists and DoesNotExist',
    fieldPath: '.values',
  }),
  { maxItems: 16 },
);

/** A label selector as everywhere in Kubernetes. An empty one matches everything. */
export function labelSelector(description: string) {
  return object(
    description,
    { matchLabels: matchLabels.optional(), matchExpressions: matchExpressions.optional() },
    { atomic: true },
  );
}

/** A label selector that also says how many it is to find. */
function dependencySelector(description: string) {
  return object(
    description,
    {
      matchLabels: matchLabels.optional(),
      matchExpressions: matchExpressions.optional(),
      expect: choice(
        'How many there must be. `Some`: at least one, and all are used. `One`: exactly one; nothing is chosen among several. `Any`: none is fine too. Left out, `Some`.',
        ['One', 'Some', 'Any'],
      ).optional(),
    },
    { atomic: true },
  );
}

/** What an object uses at run time, found by labels: loose, many to many, evolving. */
export const dependencies = object(
  'What this uses at run time, found by labels among the resources of the same team and those that are shared with it. The connection secrets of what is found are handed to it.',
  {
    databaseSelector: dependencySelector('The Databases to use.').optional(),
    cacheSelector: dependencySelector('The Caches to use.').optional(),
    topicSelector: dependencySelector('The Topics to use.').optional(),
    serviceSelector: dependencySelector('The Services to use.').optional(),
    secretSelector: dependencySelector('The Secrets of the platform to use.').optional(),
  },
);

export const costTags = map(
  'Tags for cost allocation, for example `cost-center: "4711"`. They are put on everything that is deployed, on top of those of the owner.',
  text('The value of the tag.', { maxLength: 256 }),
  { maxProperties: 32 },
);

/** Where credentials are put, for the kinds that have any. */
export const connectionSecret = object(
  'The Kubernetes Secret with address and credentials that is written when the resource is ready.',
  {
    name: objectName(
      'The name of the Kubernetes Secret in the namespace of this object. Left out, it is the name of this object followed by `-connection`.',
    ).optional(),
    rotationDays: integer('Make new credentials after this many days. Left out, they stay until someone asks.', {
      minimum: 1,
      maximum: 3650,
    }).optional(),
  },
);

/** Who else may use it. */
export const sharedWith = set(
  'The namespaces of other teams whose dependency selectors may find this resource. `*` shares it with every team.',
  text('The namespace of a team, or `*`.', {
    minLength: 1,
    maxLength: 63,
    pattern: '^(\\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$',
  }),
  { maxItems: 128 },
);
