import { command } from "../common/declaration";
import { annotatePaused, pauseOptions } from "../inspect/annotatePaused";

export default command({
  description:
    "Pauses objects: until argosy resume, their operator does nothing for them, not even if they are deleted.",
  arguments: [["<objects...>", "KIND/NAME, for example memcached/sessions"]],
  options: pauseOptions(),
  run: (objects, options) => annotatePaused(objects, options, "true"),
});
