import { command } from "../common/declaration";
import { annotatePaused, pauseOptions } from "../inspect/annotatePaused";

export default command({
  description: "Resumes paused objects: their operator reconciles them at once.",
  arguments: [["<objects...>", "KIND/NAME, for example memcached/sessions"]],
  options: pauseOptions(),
  run: (objects, options) => annotatePaused(objects, options, null),
});
