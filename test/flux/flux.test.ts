/** What is committed comes into the cluster through real Flux, past our admission on a real API server. */
import { afterAll, beforeAll } from 'vitest';
import { definitionTests } from './definitions.ts';
import { policyTests } from './policies.ts';
import { settingTests } from './settings.ts';
import { type FluxStage, startFluxStage } from './stage.ts';

let stage: FluxStage;
beforeAll(async () => {
  stage = await startFluxStage();
});
afterAll(() => stage?.stop());

settingTests(() => stage);
definitionTests(() => stage);
policyTests(() => stage);
