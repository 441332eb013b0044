import { DOMAIN } from "../../../runtime/names";

const PREFIX = `${DOMAIN}/`;

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
 * The same for an operator whose runs have a pod each, where a hot object would have as many as it has changes. Of those
 * within a second the first passes: its run reads the object when its pod has begun, which takes longer, and so sees them
 * all. One that was observed in between has been read before, and what follows passes.
 */
export const POD_EVENT_FILTER = filter(`\
local function changedAt(metadata)
  local newest
  for _, entry in ipairs(fields(metadata.managedFields)) do
    local at = fields(entry).time
    if type(at) == "string" and fields(entry).subresource == nil and (newest == nil or at > newest) then
      newest = at
    end
  end
  return newest
end
local isAwaited = before.generation ~= fields(old.status).observedGeneration
if isAwaited and now.uid == before.uid and now.deletionTimestamp == before.deletionTimestamp then
  local at = changedAt(now)
  if at ~= nil and at == changedAt(before) then return false end
end
`);

/** @param exception statements between the checks of the event's type and those of what has changed */
function filter(exception: string): string {
  return `\
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
}
