/** Charts: list versions, fetch by digest, and render. */
export { openCharts } from './charts.ts';
export { isDefinition } from './render.ts';
export { compareVersions, isVersion } from './semver.ts';
