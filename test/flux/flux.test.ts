/** What is committed comes into the cluster through real Flux, past our admission on a real API server. */
import { afterAll, beforeAll } from 'vitest';
import { definitionTests } from './support/definitions-tests.ts';
import { policyTests } from './support/policies-tests.ts';
import { settingTests } from './support/settings-tests.ts';
import { type FluxStage, startFluxStage } from './support/stage.ts';

let stage: FluxStage;
beforeAll(async () => {
  stage = await startFluxStage();
});
afterAll(() => stage?.stop());

settingTests(() => stage);
definitionTests(() => stage);
policyTests(() => stage);
