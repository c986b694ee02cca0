/** Generates random objects in the shape of Kubernetes objects, as JSON text, with the paths of values of each type. */
import { type Type, types } from '../../../src/cel/index.ts';
import type { Choices } from './choices.ts';
import { samples } from './samples.ts';

const { BOOL, DOUBLE, DYN, INT, list, map, NULL, STRING } = types;

/** The paths at which the variables of a policy have a value of a type, if the field is present. */
export const paths: readonly (readonly [path: string, type: Type])[] = [
  ['object.metadata.name', STRING],
  ['object.metadata.labels', map(STRING, STRING)],
  ['object.metadata.annotations', map(STRING, STRING)],
  ['object.metadata.finalizers', list(STRING)],
  ['object.metadata.generation', INT],
  ['object.spec.replicas', INT],
  ['object.spec.big', INT],
  ['object.spec.ratio', DOUBLE],
  ['object.spec.paused', BOOL],
  ['object.spec.nothing', NULL],
  ['object.spec.ports', list(INT)],
  ['object.spec.weights', list(DOUBLE)],
  ['object.spec.containers', list(DYN)],
  ['object.spec.containers[0].image', STRING],
  ['object.spec.containers[0].name', STRING],
  ['object.spec.limits', map(STRING, STRING)],
  ['object.spec.counts', map(STRING, INT)],
  ['object.spec["dash-ed"]', STRING],
  ['oldObject.spec.replicas', INT],
  ['oldObject.metadata.name', STRING],
  ['params.maximum', INT],
  ['params.allowed', list(STRING)],
  ['params.matrix', list(list(INT))],
  ['request.operation', STRING],
  ['request.userInfo.username', STRING],
  ['request.userInfo.groups', list(STRING)],
  ['request.dryRun', BOOL],
  ['namespaceObject.metadata.name', STRING],
  ['namespaceObject.metadata.labels', map(STRING, STRING)],
];

/** The variables of a policy except the authorizer, each as JSON text. */
export interface Variables {
  readonly object: string;
  readonly oldObject: string;
  readonly params: string;
  readonly request: string;
  readonly namespaceObject: string;
}

export function variables(choices: Choices): Variables {
  const text = () => JSON.stringify(choices.pick(samples.words));
  const name = () => JSON.stringify(choices.pick(samples.names));
  const whole = () => choices.pick(['1', '0', '3', '5', '-2', '100', '65536']);
  const fraction = () => choices.pick(['0.5', '1.0', '-2.25', '1e3', '0.0', '3.0']);
  const listOf = (make: () => string) => `[${choices.several(1, 4, make).join(',')}]`;
  const entries = (make: () => string) =>
    object(choices, Object.fromEntries(['a', 'app', 'x-y', 'b/c', '__proto__'].map((key) => [key, make()])), 60);
  const container = () =>
    object(choices, {
      name: name(),
      image: JSON.stringify(
        `${choices.pick(['registry.example.com/', 'docker.io/', ''])}app:${choices.pick(['1', 'latest'])}`,
      ),
      privileged: choices.pick(['false', 'true']),
      port: whole(),
    });
  const metadata = () =>
    object(choices, {
      name: name(),
      labels: entries(text),
      annotations: entries(name),
      finalizers: listOf(name),
      generation: whole(),
    });
  return {
    object: object(choices, {
      metadata: metadata(),
      spec: object(choices, {
        replicas: whole(),
        big: choices.pick(['9223372036854775807', '-9223372036854775808', '9007199254740993', '12345678901']),
        ratio: fraction(),
        paused: choices.pick(['true', 'false']),
        nothing: 'null',
        ports: listOf(whole),
        weights: listOf(fraction),
        containers: listOf(container),
        limits: object(choices, { cpu: '"500m"', memory: JSON.stringify(choices.pick(samples.quantities)) }),
        counts: entries(whole),
        'dash-ed': text(),
      }),
    }),
    oldObject: choices.chance(15) ? 'null' : object(choices, { metadata: metadata(), spec: `{"replicas":${whole()}}` }),
    params: object(choices, { maximum: whole(), allowed: listOf(name), matrix: listOf(() => listOf(whole)) }),
    request: object(choices, {
      operation: choices.pick(['"CREATE"', '"UPDATE"']),
      userInfo: '{"username":"alice","groups":["dev","system:authenticated"]}',
      dryRun: choices.pick(['false', 'true']),
      name: name(),
    }),
    namespaceObject: object(choices, { metadata: '{"name":"default","labels":{"app":"x"}}' }),
  };
}

/** Generates an object with most of `fields`, or `percent` of them. */
function object(choices: Choices, fields: Readonly<Record<string, string>>, percent = 97): string {
  const kept = Object.entries(fields).filter(() => !choices.chance(100 - percent));
  return `{${kept.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
}
