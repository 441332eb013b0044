import { DOMAIN } from "../../../runtime/program";

const PREFIX = `${DOMAIN}/`;

/**
 * The filter of every dependency, in Lua 5.1: whether an event can mean work. `event` is the EventSource's payload
 * (pkg/eventsources/events/event-data.go, ResourceEventData). A null of JSON is nil here (pkg/sensors/dependencies/transform.go,
 * mapToTable), and only the boolean true passes (filter.go, filterScript).
 *
 * The filter passes an ADD of an object that is not observed yet or is being deleted. So a restart of the EventSource, which
 * adds every object again, costs little. It passes an UPDATE with a new generation, a changed time of deletion or a changed
 * annotation of ours. Writes of a status are neither. An UPDATE may also be about another object of the same name, with another
 * uid, if the watch missed a deletion. An object without a name is dropped: its trigger would fail, and its retries would hold
 * up other events.
 *
 * The filter must stay as it is: with another filter Argo deletes the subscription, and with it the events that wait
 * (pkg/eventbus/jetstream/sensor/sensor_jetstream.go, setStateToSpec).
 */
export const EVENT_FILTER = `\
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
for _, field in ipairs({"uid", "generation", "deletionTimestamp"}) do
  if now[field] ~= before[field] then return true end
end
local function differ(some, others)
  for key, value in pairs(fields(some)) do
    if string.sub(key, 1, ${PREFIX.length}) == "${PREFIX}" and value ~= fields(others)[key] then return true end
  end
  return false
end
return differ(now.annotations, before.annotations) or differ(before.annotations, now.annotations)
`
  // The script is repeated for each namespace of an operator, and an environment variable holds all of them: see `planEventPath`.
  .replace(/^ +/gm, "");
