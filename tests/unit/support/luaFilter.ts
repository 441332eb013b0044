import { lauxlib, lua, lualib, to_jsstring, to_luastring } from "fengari";
import type { Json, JsonObject } from "../../../runtime/base/objects";

/**
 * Whether an event passes a filter's script, as a Sensor of Argo finds out (argo-events,
 * pkg/sensors/dependencies/filter.go, filterScript): the script sees the event as the table `event`, and nothing but
 * the boolean true at the top of the stack passes.
 *
 * @throws Error with Lua's message where the script fails; Argo drops the event then
 */
export function passesFilter(script: string, event: JsonObject): boolean {
  const state = stateWith(script);
  lua.lua_pushvalue(state, SCRIPT);
  pushGlobals(state);
  pushText(state, "event");
  pushObject(state, event);
  lua.lua_rawset(state, -3);
  lua.lua_setupvalue(state, -2, GLOBALS_OF_SCRIPT);
  try {
    if (lua.lua_pcall(state, 0, lua.LUA_MULTRET, 0)) throw lastError(state);
    return lua.lua_gettop(state) > LIBRARY && lua.lua_isboolean(state, -1) && lua.lua_toboolean(state, -1);
  } finally {
    lua.lua_settop(state, LIBRARY);
  }
}

type State = ReturnType<typeof lauxlib.luaL_newstate>;

/** What is always on a state's stack: the script as a function, and the metatable by which globals of an event have the library. */
const [SCRIPT, LIBRARY] = [1, 2];
/** The place of the table of all globals among what a script's function refers to. */
const GLOBALS_OF_SCRIPT = 1;

const states = new Map<string, State>();

/**
 * The Lua state of a script. Argo creates a state for each event. That takes longer than the script runs, so here all events share one
 * state, and each event gets globals of its own.
 */
function stateWith(script: string): State {
  const known = states.get(script);
  if (known) return known;
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  if (lauxlib.luaL_loadstring(state, to_luastring(script))) throw lastError(state);
  lua.lua_newtable(state);
  pushText(state, "__index");
  lua.lua_pushglobaltable(state);
  lua.lua_rawset(state, -3);
  states.set(script, state);
  return state;
}

/** Globals that have the library, and which nothing else sees that runs later. */
function pushGlobals(state: State): void {
  lua.lua_newtable(state);
  lua.lua_pushvalue(state, LIBRARY);
  lua.lua_setmetatable(state, -2);
}

function pushText(state: State, text: string): void {
  lua.lua_pushstring(state, to_luastring(text));
}

/** The error that Lua has left on its stack. */
export function lastError(state: State): Error {
  return new Error(textAt(state, -1));
}

/** The text at a place of Lua's stack. "" if there is none. */
export function textAt(state: State, index: number): string {
  const text = lua.lua_tostring(state, index);
  return text === null ? "" : to_jsstring(text);
}

/** What one object or list takes of Lua's stack. */
const ROOM = 3;

/** Puts an object on Lua's stack as Argo does it (pkg/sensors/dependencies/transform.go, mapToTable): a field that is null is missing. */
export function pushObject(state: State, object: JsonObject): void {
  lauxlib.luaL_checkstack(state, ROOM, null);
  lua.lua_newtable(state);
  for (const [key, value] of Object.entries(object)) {
    if (value === null) continue;
    pushText(state, key);
    pushValue(state, value);
    lua.lua_rawset(state, -3);
  }
}

function pushValue(state: State, value: Exclude<Json, null>): void {
  if (typeof value === "string") pushText(state, value);
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
