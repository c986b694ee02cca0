/** References between objects of the platform: by owner, by name, by labels. */
import { choice, integer, list, map, object, set, text } from '../schema/index.ts';
import { objectName, shortName } from './patterns.ts';

const ownerFields = {
  kind: choice('Kind of the owner.', ['Team', 'Application']),
  name: objectName('Name of the owner.'),
  namespace: shortName(
    'Namespace of the owner. Defaults to the namespace of the object. Teams are cluster-scoped and need none.',
  ).optional(),
};

/** The owner of an object. Billing, lifecycle and approvals depend on it. */
export const owner = object(
  'Owner of the object: a Team, or an Application that belongs to a Team directly or through other Applications. Billing, lifecycle and approvals depend on the owner. Immutable after creation.',
  ownerFields,
);

/** The owner that the platform recorded when it first reconciled the object. */
export const recordedOwner = object(
  'Owner that was recorded when the platform first reconciled the object. If `spec.owner` ever differs from it, the object is no longer deployed.',
  ownerFields,
);

export const targetRef = object('DeploymentTarget to deploy to.', {
  name: objectName('Name of the DeploymentTarget, for example `azure-westus2-prod`.'),
});

const labelValue = { maxLength: 63, pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$' };

export const matchLabels = map(
  'Labels that must all be present with exactly these values.',
  text('Value of the label.', labelValue),
  {
    maxProperties: 32,
  },
);

export const matchExpressions = list(
  'Label requirements that must all hold.',
  object('A label requirement.', {
    key: text('Key of the label.', { minLength: 1, maxLength: 317 }),
    operator: choice('Relationship of the label to the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: list('Values for the operators `In` and `NotIn`.', text('A value.', labelValue), {
      maxItems: 64,
    }).optional(),
  }).rules({
    rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    message: 'values is required with the operators In and NotIn, and not allowed with Exists and DoesNotExist',
    fieldPath: '.values',
  }),
  { maxItems: 16 },
);

/** `labelSelector` is a Kubernetes label selector. An empty one matches everything. */
export function labelSelector(description: string) {
  return object(
    description,
    { matchLabels: matchLabels.optional(), matchExpressions: matchExpressions.optional() },
    { atomic: true },
  );
}

/** `dependencySelector` is a label selector with the expected number of matches, and the other teams to select from. */
function dependencySelector(description: string) {
  return object(
    description,
    {
      matchLabels: matchLabels.optional(),
      matchExpressions: matchExpressions.optional(),
      expect: choice(
        'Expected number of matches. `Some`: at least one, and all of them are used. `One`: exactly one; several matches are an error. `Any`: zero or more. Defaults to `Some`.',
        ['One', 'Some', 'Any'],
      ).optional(),
      fromTeams: set(
        'Names of other Teams whose resources can match too, if they share them with this team (`spec.sharedWith`). Without it, only resources of the own team match.',
        objectName('Name of a Team.'),
        { maxItems: 32 },
      ).optional(),
    },
    { atomic: true },
  );
}

/** The run-time dependencies of an object, selected by labels. */
export const dependencies = object(
  'Run-time dependencies, selected by labels among the resources of the same team, and of the teams in `fromTeams` that share theirs. The connection secrets of the selected resources are provided to this object.',
  {
    databaseSelector: dependencySelector('Databases to use.').optional(),
    cacheSelector: dependencySelector('Caches to use.').optional(),
    topicSelector: dependencySelector('Topics to use.').optional(),
    serviceSelector: dependencySelector('Services to use.').optional(),
    secretSelector: dependencySelector('Platform Secrets to use.').optional(),
  },
);

export const costTags = map(
  'Cost-allocation tags, for example `cost-center: "4711"`. They are applied to all deployed resources, in addition to the tags of the owner.',
  text('Value of the tag.', { maxLength: 256 }),
  { maxProperties: 32 },
);

/** The location of the credentials, for kinds that have credentials. */
export const connectionSecret = object(
  'Kubernetes Secret that receives the address and the credentials when the resource is ready.',
  {
    name: objectName(
      'Name of the Kubernetes Secret in the namespace of this object. Defaults to the name of this object followed by `-connection`.',
    ).optional(),
    rotationDays: integer(
      'Number of days after which the credentials are rotated. If omitted, they are rotated only on request.',
      {
        minimum: 1,
        maximum: 3650,
      },
    ).optional(),
  },
);

/** The teams that can also use a resource. */
export const sharedWith = set(
  'Namespaces of other teams whose dependency selectors can match this resource, if they name this team in `fromTeams`. `*` shares it with every team.',
  text('Namespace of a team, or `*`.', {
    minLength: 1,
    maxLength: 63,
    pattern: '^(\\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$',
  }),
  { maxItems: 128 },
);
