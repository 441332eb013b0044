// The images that Argosy names, one a line: `tsx tools/images.ts`. Each has its name in `images`, and its reference.
import { IMAGES, imageReference } from "../components/manifests/images";
import { FUNCTION_IMAGES } from "../runtime/program";

const named = Object.entries(IMAGES).map(([name, image]) => [name, imageReference(image)]);
for (const [name, reference] of [...named, ...Object.entries(FUNCTION_IMAGES)])
  process.stdout.write(`${name} ${reference}\n`);
