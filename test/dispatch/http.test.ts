/** Everything together, with HTTP alone between the platform and its brokers. */
import { afterAll, beforeAll } from 'vitest';
import { useKafka } from '../support/kafka.ts';
import { aroundTests } from './around.ts';
import { burstTests } from './burst.ts';
import { costTests } from './costs.ts';
import { lifecycleTests } from './lifecycle.ts';
import { obstacleTests } from './obstacles.ts';
import { relationshipTests } from './relationships.ts';
import { type Stage, startStage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ topics: await useKafka() });
});
afterAll(() => stage?.stop());

lifecycleTests(() => stage, 'HTTP');
relationshipTests(() => stage);
obstacleTests(() => stage);
burstTests(() => stage);
costTests(() => stage);
aroundTests(() => stage);
