/** What changes about the definition itself: versions, names, scope, subresources, conversion. */
import type { ChangeKind, CrdSchema, Json } from '../../../../src/crd-compat/index.ts';
import {
  type DefinitionSpec,
  type DefinitionVersion,
  definition,
  type Expectation,
  group,
  type Pair,
  widget,
} from './shape.ts';

const schema: CrdSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        note: { type: 'string' },
        colour: { type: 'string' },
        replicas: { type: 'integer' },
        wanted: { type: 'integer' },
      },
    },
    status: { type: 'object', properties: { replicas: { type: 'integer' }, ready: { type: 'boolean' } } },
  },
};

const object = (version = 'v1') =>
  widget({ spec: { note: 'as it was', colour: 'red', replicas: 2, wanted: 3 } }, `object-of-${version}`, version);
const withStatus = widget({ spec: { note: 'as it was' }, status: { ready: true } }, 'object-with-status');
const collection = (version: string) => `/apis/${group}/${version}/widgets`;
const namespaced = (version: string, rest: string) => `/apis/${group}/${version}/namespaces/NAMESPACE/widgets/${rest}`;

type Edit = (spec: DefinitionSpec) => unknown;
const first =
  (edit: (version: DefinitionVersion) => unknown): Edit =>
  (spec) =>
    edit(spec.versions[0] as DefinitionVersion);
const version = (name: string, more: Partial<DefinitionVersion> = {}): DefinitionVersion => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: schema },
  ...more,
});
const also =
  (name: string, more: Partial<DefinitionVersion> = {}): Edit =>
  (spec) =>
    spec.versions.push(version(name, more));
const asItIs: Edit = () => undefined;

interface Row {
  readonly name: string;
  readonly before: Edit;
  readonly after: Edit;
  readonly forth: Case;
  readonly back?: Case;
}

interface Case extends Expectation {
  readonly objects?: readonly Json[];
  readonly requests?: readonly string[];
  readonly server?: 'refused' | 'not-tried';
}

const fine = (kind: ChangeKind, reason: string): Case => ({ kind, stored: 'safe', manifests: 'safe', reason });
const subresource = (name: string, value: unknown): Edit =>
  first((each) => Object.assign(each, { subresources: { [name]: value } }));
const scale = (path: string) => ({ specReplicasPath: path, statusReplicasPath: '.status.replicas' });
const gone = 'requests that name it get no answer';
const elsewhere =
  'the API server refuses it: it would move every object to another address. It can only be had by deleting the definition and all objects with it';

const requiredByDefault: CrdSchema = {
  required: ['status'],
  properties: { ...schema.properties, status: { ...schema.properties?.status, default: { ready: false } } },
};

const rows: readonly Row[] = [
  {
    name: 'version added',
    before: asItIs,
    after: also('v2'),
    forth: fine('version-added', 'the old one is served as before'),
    back: {
      kind: 'version-removed',
      stored: 'safe',
      manifests: 'breaking',
      reason: `nothing is stored in it, but ${gone}, manifests among them`,
      objects: [object('v2'), object()],
      requests: [collection('v2')],
    },
  },
  {
    name: 'version that was not served removed',
    before: also('v2', { served: false }),
    after: asItIs,
    forth: fine('version-removed', 'nothing is stored in it, and nobody could ask for it'),
    back: fine('version-added', 'nobody can ask for it'),
  },
  {
    name: 'version with stored objects removed',
    before: (spec) => Object.assign(spec, { versions: [version('v1', { storage: true }), version('v2')] }),
    after: (spec) => Object.assign(spec, { versions: [version('v2', { storage: true })] }),
    forth: {
      kind: 'version-removed',
      stored: 'breaking',
      manifests: 'breaking',
      reason:
        'objects in it could not be read any more; the API server refuses it while the version is in status.storedVersions',
      server: 'refused',
    },
  },
  {
    name: 'version no longer served',
    before: also('v2'),
    after: also('v2', { served: false }),
    forth: {
      kind: 'version-unserved',
      stored: 'safe',
      manifests: 'breaking',
      reason: `objects stay and are read in the other version; ${gone}`,
      objects: [object('v2'), object()],
      requests: [collection('v2')],
    },
    back: fine('version-served', 'more can be asked for, and nothing less'),
  },
  {
    name: 'storage moved to a version with the same schema',
    before: also('v2'),
    after: (spec) => Object.assign(spec, { versions: [version('v1'), version('v2', { storage: true })] }),
    forth: {
      kind: 'storage-version-moved',
      stored: ['safe', 'risky'],
      manifests: ['safe', 'risky'],
      reason:
        'objects are read from either and written to the new one without loss. It cannot simply be reverted: both versions are in status.storedVersions from then on, so risky can be argued',
      objects: [object(), object('v2')],
    },
    back: {
      kind: 'storage-version-moved',
      stored: ['safe', 'risky'],
      manifests: ['safe', 'risky'],
      reason: 'as the other way round',
      objects: [object(), object('v2')],
    },
  },
  {
    name: 'storage moved to a version that lacks a field',
    before: also('v2', { schema: { openAPIV3Schema: without('colour') } }),
    after: (spec) =>
      Object.assign(spec, {
        versions: [version('v1'), version('v2', { storage: true, schema: { openAPIV3Schema: without('colour') } })],
      }),
    forth: {
      kind: 'storage-version-moved',
      stored: 'breaking',
      manifests: 'breaking',
      reason:
        'without a conversion webhook, what is written is stored in the new version, and the field that it does not know is pruned when it is read again',
      objects: [object()],
    },
    back: {
      kind: 'storage-version-moved',
      stored: ['safe', 'risky'],
      manifests: ['safe', 'risky'],
      reason: 'the version that has every field is stored; nothing is lost',
      objects: [widget({ spec: { note: 'as it was', replicas: 2 } }, 'object-of-v2', 'v2')],
    },
  },
  {
    name: 'version deprecated',
    before: asItIs,
    after: first((each) => Object.assign(each, { deprecated: true, deprecationWarning: 'use v2' })),
    forth: fine('version-deprecated', 'clients get a warning with each answer, and the same answers'),
    back: fine('version-undeprecated', 'one warning less'),
  },
  {
    name: 'warning of a deprecated version changed',
    before: first((each) => Object.assign(each, { deprecated: true, deprecationWarning: 'use v2' })),
    after: first((each) => Object.assign(each, { deprecated: true, deprecationWarning: 'use v3' })),
    forth: fine('deprecation-warning-changed', 'the same answers, with other words beside them'),
    back: fine('deprecation-warning-changed', 'the same answers, with other words beside them'),
  },
  {
    name: 'conversion by a webhook',
    before: also('v2'),
    after: (spec) => {
      also('v2')(spec);
      spec.conversion = {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { url: 'https://conversion.example.com/convert' },
        },
      };
    },
    forth: {
      kind: 'conversion-strategy-changed',
      stored: ['risky', 'breaking'],
      manifests: ['risky', 'breaking'],
      reason: 'what the webhook makes of objects, and whether it answers, is unknown from the definition',
      server: 'not-tried',
    },
    back: {
      kind: 'conversion-strategy-changed',
      stored: ['risky', 'breaking'],
      manifests: ['risky', 'breaking'],
      reason: 'objects are no longer converted, only relabelled: what differs between the versions is lost',
      server: 'not-tried',
    },
  },
  {
    name: 'conversion by another webhook',
    before: converted('https://conversion.example.com/convert'),
    after: converted('https://conversion.example.com/convert-better'),
    forth: webhookChanged('conversion-webhook-changed', 'the result of another webhook is unknown'),
    back: webhookChanged('conversion-webhook-changed', 'the result of another webhook is unknown'),
  },
  {
    name: 'review version of a conversion taken away',
    before: converted('https://conversion.example.com/convert', ['v1', 'v1beta1']),
    after: converted('https://conversion.example.com/convert', ['v1']),
    forth: webhookChanged('conversion-review-versions-changed', 'which of them the webhook supports is unknown'),
    back: webhookChanged('conversion-review-versions-changed', 'which of them the webhook supports is unknown'),
  },
  {
    name: 'scope changed',
    before: asItIs,
    after: (spec) => Object.assign(spec, { scope: 'Cluster' }),
    forth: { kind: 'scope-changed', stored: 'breaking', manifests: 'breaking', reason: elsewhere, server: 'refused' },
    back: { kind: 'scope-changed', stored: 'breaking', manifests: 'breaking', reason: elsewhere, server: 'refused' },
  },
  {
    name: 'kind changed',
    before: asItIs,
    after: (spec) => Object.assign(spec.names, { kind: 'Gadget', listKind: 'GadgetList' }),
    forth: { kind: 'kind-changed', stored: 'breaking', manifests: 'breaking', reason: elsewhere, server: 'refused' },
  },
  {
    name: 'plural changed',
    before: asItIs,
    after: (spec) => Object.assign(spec.names, { plural: 'gadgets' }),
    forth: { kind: 'plural-changed', stored: 'breaking', manifests: 'breaking', reason: elsewhere, server: 'refused' },
  },
  {
    name: 'group changed',
    before: asItIs,
    after: (spec) => Object.assign(spec, { group: 'other.example.com' }),
    forth: { kind: 'group-changed', stored: 'breaking', manifests: 'breaking', reason: elsewhere, server: 'refused' },
  },
  {
    name: 'singular changed',
    before: asItIs,
    after: (spec) => Object.assign(spec.names, { singular: 'gadget' }),
    forth: singularChanged(),
    back: singularChanged(),
  },
  {
    name: 'short name added',
    before: asItIs,
    after: (spec) => Object.assign(spec.names, { shortNames: ['wd'] }),
    forth: fine('short-name-added', 'one name more to call it by'),
    back: {
      kind: 'short-name-removed',
      stored: 'safe',
      manifests: ['risky', 'breaking'],
      reason:
        'manifests do not use it, but commands and scripts do, and those fail: risky and breaking can both be argued',
    },
  },
  {
    name: 'category added',
    before: asItIs,
    after: (spec) => Object.assign(spec.names, { categories: ['all'] }),
    forth: fine('category-added', 'it is listed with others'),
    back: {
      kind: 'category-removed',
      stored: 'safe',
      manifests: ['safe', 'risky'],
      reason: 'kubectl get all shows less; nothing is refused',
    },
  },
  {
    name: 'status subresource removed',
    before: subresource('status', {}),
    after: asItIs,
    forth: {
      kind: 'status-subresource-removed',
      stored: ['safe', 'risky', 'breaking'],
      manifests: 'breaking',
      reason: 'controllers that write /status get a 404, and a status in a manifest, ignored before, is written',
      objects: [object()],
      requests: [namespaced('v1', 'object-of-v1/status')],
    },
    back: {
      kind: 'status-subresource-added',
      stored: ['safe', 'risky', 'breaking'],
      manifests: ['breaking', 'risky'],
      reason:
        'a status in a manifest or a plain update is dropped without a word; who has none there notices nothing, so risky can be argued',
      objects: [withStatus, object()],
    },
  },
  {
    name: 'status subresource added where a status is required',
    before: needing({ required: ['status'] }),
    after: (spec) => {
      needing({ required: ['status'] })(spec);
      subresource('status', {})(spec);
    },
    forth: {
      kind: 'status-subresource-added',
      stored: ['safe', 'risky'],
      manifests: 'breaking',
      reason: 'on a create the status is left out before the object is validated, so that every manifest is refused',
      objects: [withStatus],
    },
  },
  {
    name: 'status subresource added where a status is required and has a default',
    before: needing(requiredByDefault),
    after: (spec) => {
      needing(requiredByDefault)(spec);
      subresource('status', {})(spec);
    },
    forth: {
      kind: 'status-subresource-added',
      stored: ['safe', 'risky'],
      manifests: 'breaking',
      reason: 'the default is filled in first, and then left out with the status: every manifest is refused',
      objects: [withStatus],
    },
  },
  {
    name: 'status subresource added where a rule reads the status',
    before: needing({ 'x-kubernetes-validations': [{ rule: 'has(self.status) && has(self.status.ready)' }] }),
    after: (spec) => {
      needing({ 'x-kubernetes-validations': [{ rule: 'has(self.status) && has(self.status.ready)' }] })(spec);
      subresource('status', {})(spec);
    },
    forth: {
      kind: 'status-subresource-added',
      stored: ['safe', 'risky'],
      manifests: 'breaking',
      reason: 'on a create the status is left out before the rule is run, so that every manifest is refused',
      objects: [withStatus],
    },
  },
  {
    name: 'scale subresource removed',
    before: subresource('scale', scale('.spec.replicas')),
    after: asItIs,
    forth: {
      kind: 'scale-subresource-removed',
      stored: 'safe',
      manifests: 'breaking',
      reason: 'kubectl scale and autoscalers get a 404',
      requests: [namespaced('v1', 'object-of-v1/scale')],
    },
    back: {
      kind: 'scale-subresource-added',
      stored: ['risky', 'breaking'],
      manifests: ['risky', 'breaking'],
      reason:
        'the API server now refuses objects whose replicas are negative or too many for 32 bits. Nobody means such a number, so risky can be argued',
      objects: [object(), widget({ spec: { note: 'as it was', replicas: -1 } }, 'object-with-less-than-none')],
    },
  },
  {
    name: 'path of scale changed',
    before: subresource('scale', scale('.spec.replicas')),
    after: subresource('scale', scale('.spec.wanted')),
    forth: scaleMoved(),
    back: scaleMoved(),
  },
  {
    name: 'selectable field removed',
    before: first((each) => Object.assign(each, { selectableFields: [{ jsonPath: '.spec.colour' }] })),
    after: asItIs,
    forth: {
      kind: 'selectable-field-removed',
      stored: 'safe',
      manifests: 'breaking',
      reason: 'a list or watch that selects by it is refused',
      requests: [`${collection('v1')}?fieldSelector=spec.colour%3Dred`],
    },
    back: fine('selectable-field-added', 'one field more to select by'),
  },
  {
    name: 'printer column added',
    before: asItIs,
    after: first((each) =>
      Object.assign(each, {
        additionalPrinterColumns: [{ name: 'Colour', type: 'string', jsonPath: '.spec.colour' }],
      }),
    ),
    forth: fine('printer-column-added', 'only tables for people look different'),
    back: fine('printer-column-removed', 'only tables for people look different'),
  },
  {
    name: 'printer column changed',
    before: column('.spec.colour'),
    after: column('.spec.note'),
    forth: fine('printer-column-changed', 'only tables for people look different'),
    back: fine('printer-column-changed', 'only tables for people look different'),
  },
  {
    name: 'preserveUnknownFields turned off',
    before: (spec) => Object.assign(spec, { preserveUnknownFields: true }),
    after: asItIs,
    forth: {
      kind: 'definition-prunes-unknown-fields',
      stored: 'breaking',
      manifests: 'breaking',
      reason:
        'fields that the schema does not name are pruned from now on. Such a definition can only have come from v1beta1, so a server of today cannot be given one',
      server: 'not-tried',
    },
    back: {
      kind: 'definition-preserves-unknown-fields',
      stored: 'breaking',
      manifests: 'breaking',
      reason: 'apiextensions.k8s.io/v1 does not allow it: the definition itself cannot be applied',
      server: 'refused',
    },
  },
];

function needing(more: CrdSchema): Edit {
  return first((each) => Object.assign(each, { schema: { openAPIV3Schema: { ...schema, ...more } } }));
}

function column(jsonPath: string): Edit {
  return first((each) =>
    Object.assign(each, { additionalPrinterColumns: [{ name: 'Look', type: 'string', jsonPath }] }),
  );
}

function converted(url: string, conversionReviewVersions: readonly string[] = ['v1']): Edit {
  return (spec) => {
    also('v2')(spec);
    spec.conversion = { strategy: 'Webhook', webhook: { conversionReviewVersions, clientConfig: { url } } };
  };
}

function webhookChanged(kind: ChangeKind, reason: string): Case {
  return { kind, stored: ['risky', 'safe'], manifests: ['risky', 'safe'], reason, server: 'not-tried' };
}

function singularChanged(): Case {
  return {
    kind: 'singular-changed',
    stored: 'safe',
    manifests: ['safe', 'risky'],
    reason: 'manifests do not use it, but commands and scripts do, so risky can be argued',
  };
}

function scaleMoved(): Case {
  return {
    kind: 'scale-subresource-changed',
    stored: ['safe', 'risky', 'breaking'],
    manifests: ['breaking', 'risky'],
    reason: 'the same request reads and writes another field: 2 replicas become 3',
    requests: [namespaced('v1', 'object-of-v1/scale')],
  };
}

function without(field: string): CrdSchema {
  const { [field]: _, ...kept } = schema.properties?.spec?.properties ?? {};
  return { ...schema, properties: { ...schema.properties, spec: { type: 'object', properties: kept } } };
}

export const definitionPairs: readonly Pair[] = rows.flatMap(({ name, before, after, forth, back }) => {
  const pair = (title: string, [from, to]: readonly [Edit, Edit], expected: Case): Pair => ({
    ...expected,
    name: title,
    before: definition(schema, from),
    after: definition(schema, to),
    objects: expected.objects ?? [object()],
  });
  return [
    pair(name, [before, after], forth),
    ...(back === undefined ? [] : [pair(`${name}, reverted`, [after, before], back)]),
  ];
});

const untyped: CrdSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const shortlyNamed: CrdSchema = {
  ...schema,
  properties: {
    ...schema.properties,
    metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 20 } } },
  },
};
const ofOneKind: CrdSchema = {
  ...schema,
  properties: { ...schema.properties, kind: { type: 'string', enum: ['Widget'] } },
};

const named = (rule: string): CrdSchema => ({ ...schema, 'x-kubernetes-validations': [{ rule }] });

/** Rules that say what objects may be called. */
const namedByRule: readonly Pair[] = (
  [
    ['names bounded by a rule', 'self.metadata.name.size() <= 20', 'with-a-name-that-is-longer'],
    ['an ending of names refused by a rule', "!self.metadata.name.endsWith('-tmp')", 'object-tmp'],
    ['names matched by a rule', "self.metadata.name.matches('^[a-z]+$')", 'object-7'],
  ] as const
).flatMap(([name, rule, refused]) => [
  {
    name,
    before: definition(schema),
    after: definition(named(rule)),
    kind: 'rule-added' as const,
    stored: 'breaking' as const,
    manifests: 'breaking' as const,
    reason: 'a manifest with such a name is refused; what exists under one meets the rule whenever it is updated',
    objects: [widget({ spec: { note: 'as it was' } }, refused), widget({ spec: { note: 'as it was' } }, 'short')],
  },
  {
    name: `${name}, reverted`,
    before: definition(named(rule)),
    after: definition(schema),
    kind: 'rule-removed' as const,
    stored: 'safe' as const,
    manifests: 'safe' as const,
    reason: 'every name that was accepted still is',
    objects: [widget({ spec: { note: 'as it was' } }, 'short')],
  },
]);

/** The whole schema of a version, given up or brought in; and what is true of every resource, named in it. */
export const wholeSchemaPairs: readonly Pair[] = [
  ...namedByRule,
  {
    name: 'names restricted',
    before: definition(schema),
    after: definition(shortlyNamed),
    kind: 'max-length-added',
    stored: 'safe',
    manifests: 'breaking',
    reason: 'a manifest with a longer name is refused; what exists under one ratchets',
    objects: [widget({ spec: { note: 'as it was' } }, 'with-a-name-that-is-longer'), object()],
  },
  {
    name: 'names restricted, reverted',
    before: definition(shortlyNamed),
    after: definition(schema),
    kind: 'max-length-removed',
    stored: 'safe',
    manifests: 'safe',
    reason: 'every name that was accepted still is',
    objects: [object()],
  },
  {
    name: 'kind written into the schema',
    before: definition(schema),
    after: definition(ofOneKind),
    kind: 'enum-added',
    stored: 'safe',
    manifests: 'safe',
    reason: 'every object of the kind says so already',
    objects: [object()],
  },
  {
    name: 'schema given up',
    before: definition(schema),
    after: definition(untyped),
    kind: ['schema-removed', 'preserve-unknown-fields-added', 'field-removed'],
    stored: ['safe', 'risky'],
    manifests: ['safe', 'risky'],
    reason: 'everything is accepted and kept from now on; nothing is validated any more, so risky can be argued',
    objects: [object()],
  },
  {
    name: 'schema brought in',
    before: definition(untyped),
    after: definition(schema),
    kind: ['schema-added', 'preserve-unknown-fields-removed', 'field-added'],
    stored: 'breaking',
    manifests: 'breaking',
    reason: 'what the schema does not name is pruned, and what it names must be as it says',
    objects: [widget({ spec: { note: 'as it was', unheard: 'of' } }, 'object-0'), object()],
  },
];
