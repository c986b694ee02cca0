/** How long something took or has been so, as people say it. */

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `8s`, `4m12s`, `2h05m`, `3d04h`: the two largest units. */
export function duration(milliseconds: number): string {
  const whole = Math.max(0, Math.floor(milliseconds / second)) * second;
  const two = (count: number): string => String(count).padStart(2, '0');
  if (whole < minute) return `${whole / second}s`;
  if (whole < hour) return `${Math.floor(whole / minute)}m${two((whole % minute) / second)}s`;
  if (whole < day) return `${Math.floor(whole / hour)}h${two(Math.floor((whole % hour) / minute))}m`;
  return `${Math.floor(whole / day)}d${two(Math.floor((whole % day) / hour))}h`;
}

/** Between two instants; `-` where one is not known. */
export function between(from: string | undefined, to: string | number | undefined): string {
  const start = Date.parse(from ?? '');
  const end = typeof to === 'number' ? to : Date.parse(to ?? '');
  return Number.isNaN(start) || Number.isNaN(end) ? '-' : duration(end - start);
}

/** The time of day, in UTC as everything that the platform writes. */
export const timeOfDay = (instant: string): string => {
  const at = new Date(instant);
  return Number.isNaN(at.getTime()) ? instant : at.toISOString().slice(11, 19);
};
