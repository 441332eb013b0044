import { DOMAIN, MANAGER_PREFIX } from "../../../runtime/program";

const PREFIX = `${DOMAIN}/`;
/** How deep an object is compared: Lua's stack in Argo ends at 256 calls, and with it the event would be lost. */
const DEEPEST = 100;

/**
 * The filter of every dependency, in Lua 5.1: whether an event can mean work. `event` is the EventSource's payload
 * (pkg/eventsources/events/event-data.go, ResourceEventData); what is null in JSON is nil here
 * (pkg/sensors/dependencies/transform.go, mapToTable), and only the boolean true passes (filter.go, filterScript).
 *
 * It passes an ADD of an object that is not observed yet or is being deleted, so that a restart of the EventSource,
 * which adds every object again, costs little; and an UPDATE with a new generation, a changed time of deletion or a
 * changed annotation of ours. Status writes pass neither. An UPDATE may also be another object of the same name,
 * where the watch missed a deletion: it has another uid. An object without a name is nobody's, and its trigger would
 * fail and be tried again while others wait.
 *
 * It must stay as it is: with another filter Argo deletes the subscription, and with it the events that wait
 * (pkg/eventbus/jetstream/sensor/sensor_jetstream.go, setStateToSpec).
 */
export const EVENT_FILTER = filter("");

/**
 * The same for an operator whose runs have a pod each, where a hot object would have as many as it has changes. While an
 * object is awaited (its generation is not observed), the first change of each second passes, whatever it changes, and no
 * other of that second: the first one's run reads the object when its pod has begun, which takes longer, and so sees them
 * all. So of no change that means work all runs have begun before it.
 *
 * The second is that of the newest entry of `managedFields`, but for our own finalizer and status. What only takes
 * something away, as the end of a pause does, leaves no time there (apimachinery, pkg/util/managedfields/internal/
 * managedfieldsupdater.go, Update): it passes whenever it means work.
 */
export const POD_EVENT_FILTER = filter(`\
local function changedAt(metadata)
  local newest
  for _, entry in ipairs(fields(metadata.managedFields)) do
    entry = fields(entry)
    local at, manager = entry.time, entry.manager
    local isOurs = type(manager) == "string" and string.sub(manager, 1, ${MANAGER_PREFIX.length}) == "${MANAGER_PREFIX}"
    if type(at) == "string" and entry.subresource == nil and not isOurs and (newest == nil or at > newest) then
      newest = at
    end
  end
  return newest
end
local function isLess(value, previous, depth)
  if type(previous) ~= "table" then return false end
  if type(value) ~= "table" or depth > ${DEEPEST} then return true end
  for key, each in pairs(previous) do
    if value[key] == nil or isLess(value[key], each, depth + 1) then return true end
  end
  return false
end
local function hasLess()
  for key, previous in pairs(old) do
    local isWork = key ~= "metadata" and key ~= "status"
    if isWork and (object[key] == nil or isLess(object[key], previous, 0)) then return true end
  end
  return isLess(now.annotations, before.annotations, 0)
end
local isAwaited = before.generation ~= fields(old.status).observedGeneration
if isAwaited and now.uid == before.uid and now.deletionTimestamp == before.deletionTimestamp then
  local at, last = changedAt(now), changedAt(before)
  if at ~= nil and at ~= last then return true end
  if at ~= nil and not hasLess() then return false end
end
`);

/** @param exception statements between the checks of the event's type and those of what has changed */
function filter(exception: string): string {
  const script = `\
local function fields(value)
  if type(value) == "table" then return value end
  return {}
end
local object, old = fields(event.body), fields(event.oldBody)
local now, before = fields(object.metadata), fields(old.metadata)
if type(now.name) ~= "string" then return false end
if event.type == "ADD" then
  local observed = fields(object.status).observedGeneration
  return now.deletionTimestamp ~= nil or now.generation == nil or now.generation ~= observed
end
if event.type ~= "UPDATE" then return false end
${exception}for _, field in ipairs({"uid", "generation", "deletionTimestamp"}) do
  if now[field] ~= before[field] then return true end
end
local function differ(some, others)
  for key, value in pairs(fields(some)) do
    if string.sub(key, 1, ${PREFIX.length}) == "${PREFIX}" and value ~= fields(others)[key] then return true end
  end
  return false
end
return differ(now.annotations, before.annotations) or differ(before.annotations, now.annotations)
`;
  // Each namespace of an operator carries it, and an environment variable carries all of them: see `planEventPath`.
  return script.replace(/^ +/gm, "");
}
