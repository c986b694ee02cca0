/** Charts: which versions there are, fetched and known by their digests, and what they come to when they are rendered. */
export { openCharts } from './charts.ts';
export { allowedNetworks } from './networks.ts';
export { isDefinition } from './render.ts';
export { compareVersions, isVersion } from './semver.ts';
