import { lauxlib, lua, lualib, to_luastring } from "fengari";
import type { JsonObject, KubernetesObject } from "../../../runtime/base/objects";
import { lastError, pushObject, textAt } from "./luaFilter";

/** What a health check returns. */
export interface Health {
  readonly status: string;
  readonly message: string;
}

/**
 * The health of an object, as Argo CD finds it out by the script of a user (argo-cd, util/lua/lua.go): the script has the libraries base
 * and table and no other, sees the object as the global `obj`, and returns a table.
 *
 * @throws Error with Lua's message where the script fails or returns no table; Argo CD says Unknown then
 */
export function healthOf(script: string, object: KubernetesObject): Health {
  const state = stateWith(script);
  try {
    pushObject(state, object as unknown as JsonObject);
    lua.lua_setglobal(state, to_luastring("obj"));
    lua.lua_pushvalue(state, SCRIPT);
    if (lua.lua_pcall(state, 0, 1, 0)) throw lastError(state);
    if (!lua.lua_istable(state, RESULT)) throw new Error("the script has returned no table");
    lua.lua_getfield(state, RESULT, to_luastring("status"));
    lua.lua_getfield(state, RESULT, to_luastring("message"));
    return { status: textAt(state, RESULT + 1), message: textAt(state, RESULT + 2) };
  } finally {
    lua.lua_settop(state, SCRIPT);
  }
}

/** The script on a state's stack, which is always there, and what it returns. */
const [SCRIPT, RESULT] = [1, 2];
const states = new Map<string, ReturnType<typeof lauxlib.luaL_newstate>>();

/** Argo CD creates a state for each object. That takes longer than the script runs, so here all objects share one state. */
function stateWith(script: string) {
  const known = states.get(script);
  if (known) return known;
  const state = lauxlib.luaL_newstate();
  lauxlib.luaL_requiref(state, to_luastring("_G"), lualib.luaopen_base, 1);
  lauxlib.luaL_requiref(state, to_luastring("table"), lualib.luaopen_table, 1);
  lua.lua_settop(state, 0);
  if (lauxlib.luaL_loadstring(state, to_luastring(script))) throw lastError(state);
  states.set(script, state);
  return state;
}
