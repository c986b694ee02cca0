/** Parses the durations of our kinds (`isoDuration`): ISO 8601 without years and months. */

const form = /^P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?)$/;
const [second, minute, hour, day, week] = [1_000, 60_000, 3_600_000, 86_400_000, 604_800_000] as const;

/** `millisecondsOf` converts `PT5M` to 300000. It throws for durations that the schema of the kind rejects. */
export function millisecondsOf(duration: string): number {
  const match = /\d/.test(duration) ? form.exec(duration) : null;
  if (match === null)
    throw new RangeError(`"${duration}" is not a duration: want for example PT30S, PT5M, PT24H or P7D`);
  const [, weeks = '0', days = '0', hours = '0', minutes = '0', seconds = '0'] = match;
  const whole = Number(weeks) * week + Number(days) * day + Number(hours) * hour + Number(minutes) * minute;
  return whole + Math.round(Number(seconds) * second);
}
