/**
 * The current place in a sample, with the text of its path. The text is read often, and usually only its last step has
 * changed.
 */
import { pathText, type Step } from '../fault.ts';

export class Trail {
  readonly steps: Step[] = [];
  /** The texts of the prefixes of the path, as far as they were needed. */
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

/** The next step from a path towards a place below it. */
export function stepInto(way: string, place: string): Step | undefined {
  const [, name, quoted, index] = STEP.exec(way.slice(place.length)) ?? [];
  if (quoted !== undefined) return JSON.parse(quoted) as string;
  return index === undefined ? name : Number(index);
}

const STEP = /^(?:\.([^.[]+)|\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\])/;

/** Whether a path leads to a place or below it. */
export const leadsInto = (way: string, place: string): boolean =>
  way.startsWith(place) && (way.length === place.length || place === '' || '.['.includes(way.charAt(place.length)));
