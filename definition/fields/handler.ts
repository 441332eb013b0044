import { either, fields, filledListOf, pattern, text } from "../checks";
import { IMAGE } from "./terms";

const HANDLER_REMEDY = "Name the file that defines reconcile(request), for example handler: main.py.";

const functionFile = pattern(
  /^[\w-][\w./-]*\.(py|js|ts)$/,
  `a file in Python, JavaScript or TypeScript in the operator's folder, with a name of letters, digits, "_", "-" and "."`,
  `${HANDLER_REMEDY} For another language, give an image and a command: handler: { image, command }.`,
).describe("A file that defines reconcile(request): main.py, main.js or main.ts.");

const handlerCommand = fields(
  {
    image: IMAGE.describe("The image that the program runs in, pinned. A stock image is enough."),
    command: filledListOf(
      text('Write each word of the command as a string of its own, for example ["python3", "main.py"].'),
      'Give program and arguments, for example command: ["python3", "main.py"].',
    ).describe("The program and its arguments. It is started in the operator's folder."),
  },
  'Write, for example, handler: { image: "python:3.13-slim", command: ["python3", "main.py"] }.',
).describe("A program in any language, which reads one line of JSON and writes one.");

/** The program that answers requests: a file with a function, or a command. */
export const HANDLER = either(
  [functionFile, handlerCommand],
  "a string or an object",
  HANDLER_REMEDY,
).describe(
  "A file that defines reconcile(request): main.py, main.js or main.ts. Or the image and the command of a program in any " +
    "language, which reads one line of JSON and writes one.",
);
