import { command } from "../common/declaration";
import { objectOptions } from "../common/options";
import { annotatePaused } from "../inspect/annotatePaused";

export default command({
  description: "Resumes paused objects: their operator reconciles them at once.",
  arguments: [["<objects...>", "KIND/NAME, for example memcached/sessions"]],
  options: objectOptions(),
  run: (objects, options) => annotatePaused(objects, options, null),
});
