/** Where in a sample one is, with the text of the way there: it is asked for often, and mostly only its end has changed. */
import { pathText, type Step } from '../fault.ts';

export class Trail {
  readonly steps: Step[] = [];
  /** Of the way to each of the steps, as far as they were asked for. */
  readonly #texts: string[] = [];

  enter(step: Step): void {
    this.steps.push(step);
  }

  leave(): void {
    this.steps.pop();
    if (this.#texts.length > this.steps.length) this.#texts.length = this.steps.length;
  }

  get text(): string {
    let text = this.#texts.at(-1) ?? '';
    for (let at = this.#texts.length; at < this.steps.length; at++) {
      text += pathText([this.steps[at] as Step]);
      this.#texts.push(text);
    }
    return text;
  }
}

/** The step after a place on the way to another that is further on. */
export function stepInto(way: string, place: string): Step | undefined {
  const [, name, quoted, index] = STEP.exec(way.slice(place.length)) ?? [];
  if (quoted !== undefined) return JSON.parse(quoted) as string;
  return index === undefined ? name : Number(index);
}

const STEP = /^(?:\.([^.[]+)|\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\])/;

/** Whether a way leads to a place or into it. */
export const leadsInto = (way: string, place: string): boolean =>
  way.startsWith(place) && (way.length === place.length || place === '' || '.['.includes(way.charAt(place.length)));
