import { DOMAIN, MANAGER_PREFIX } from "../../../runtime/program";

const PREFIX = `${DOMAIN}/`;
/** How deep an object is compared. Lua's stack in Argo ends at 256 calls, and the event would be lost with it. */
const DEEPEST = 100;

/**
 * The filter of every dependency, in Lua 5.1: whether an event can mean work. `event` is the EventSource's payload
 * (pkg/eventsources/events/event-data.go, ResourceEventData). A null of JSON is nil here (pkg/sensors/dependencies/transform.go,
 * mapToTable), and only the boolean true passes (filter.go, filterScript).
 *
 * The filter passes an ADD of an object that is not observed yet or is being deleted. So a restart of the EventSource, which adds
 * every object again, costs little. It passes an UPDATE with a new generation, a changed time of deletion or a changed annotation
 * of ours. Writes of a status are neither. An UPDATE may also be about another object of the same name, with another uid, if the
 * watch missed a deletion. An object without a name belongs to nobody, and its trigger would fail and be tried again while others
 * wait.
 *
 * The filter must stay as it is: with another filter Argo deletes the subscription, and with it the events that wait
 * (pkg/eventbus/jetstream/sensor/sensor_jetstream.go, setStateToSpec).
 */
export const EVENT_FILTER = filter("");

/**
 * The same for an operator with a pod for each run, for which an object that changes often would have a pod for each change. As
 * long as an object's generation is not observed, the first change of each second passes, whatever it changes, and no other
 * change of that second. The run of the first change reads the object when its pod has begun, which takes longer than a second,
 * and so sees them all. So for each change that means work, some run begins after it.
 *
 * The second is that of the newest entry of `managedFields`, except for our own finalizer and status. A change that only removes
 * something, such as the end of a pause, leaves no time there (apimachinery,
 * pkg/util/managedfields/internal/managedfieldsupdater.go, Update). It passes whenever it means work.
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

/** @param exception statements between the checks of the event's type and those of its changes */
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
  // The script is repeated for each namespace of an operator, and an environment variable holds all of them: see `planEventPath`.
  return script.replace(/^ +/gm, "");
}
