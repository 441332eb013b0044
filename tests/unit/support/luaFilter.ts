import { lauxlib, lua, lualib, to_jsstring, to_luastring } from "fengari";
import type { Json, JsonObject } from "../../../runtime/kubernetes/objects";

/**
 * Whether an event passes a filter's script, as a Sensor of Argo finds out (argo-events,
 * pkg/sensors/dependencies/filter.go, filterScript): the script sees the event as the table `event`, and nothing but
 * the boolean true at the top of the stack passes.
 *
 * @throws Error with Lua's message where the script fails; Argo drops the event then
 */
export function passesFilter(script: string, event: JsonObject): boolean {
  const state = lauxlib.luaL_newstate();
  try {
    lualib.luaL_openlibs(state);
    pushObject(state, event);
    lua.lua_setglobal(state, to_luastring("event"));
    if (lauxlib.luaL_dostring(state, to_luastring(script))) {
      throw new Error(to_jsstring(lua.lua_tostring(state, -1)));
    }
    return lua.lua_gettop(state) > 0 && lua.lua_isboolean(state, -1) && lua.lua_toboolean(state, -1);
  } finally {
    lua.lua_close(state);
  }
}

type State = Parameters<typeof lua.lua_close>[0];

/** What one object or list takes of Lua's stack. */
const ROOM = 3;

/** As Argo does it (pkg/sensors/dependencies/transform.go, mapToTable): a field that is null is not there. */
function pushObject(state: State, object: JsonObject): void {
  lauxlib.luaL_checkstack(state, ROOM, null);
  lua.lua_newtable(state);
  for (const [key, value] of Object.entries(object)) {
    if (value === null) continue;
    lua.lua_pushstring(state, to_luastring(key));
    pushValue(state, value);
    lua.lua_rawset(state, -3);
  }
}

function pushValue(state: State, value: Exclude<Json, null>): void {
  if (typeof value === "string") lua.lua_pushstring(state, to_luastring(value));
  else if (typeof value === "number") lua.lua_pushnumber(state, value);
  else if (typeof value === "boolean") lua.lua_pushboolean(state, value);
  else if (Array.isArray(value)) pushArray(state, value);
  else pushObject(state, value);
}

/** Argo leaves out what is null in a list, and lists in lists. */
function pushArray(state: State, values: readonly Json[]): void {
  lua.lua_newtable(state);
  let position = 0;
  for (const value of values) {
    if (value === null || Array.isArray(value)) continue;
    pushValue(state, value);
    lua.lua_rawseti(state, -2, ++position);
  }
}
