/** The notes of a release: its section of CHANGELOG.md. */

/** `releaseNotes` returns the text below the heading of a version, or of what is not released yet. */
export function releaseNotes(changelog: string, version: string | 'Unreleased'): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((each) => each.startsWith(`[${version}]`));
  const text = section?.slice(section.indexOf('\n')).trim() ?? '';
  if (text === '') throw new Error(`CHANGELOG.md has no entries below "## [${version}]": write them first.`);
  return `${text}\n`;
}
