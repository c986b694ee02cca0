/** `npm run sbom` prints the software bill of materials of the package. That of the image is written by `npm run image`. */
import { packageBom } from './bom.ts';

process.stdout.write(`${JSON.stringify(await packageBom(), undefined, 2)}\n`);
