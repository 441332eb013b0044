/** The part of fengari, Lua 5.3 in JavaScript, that the tests use: Lua's C API with its own names. */
declare module "fengari" {
  /** A running Lua. */
  interface State {
    readonly brand: unique symbol;
  }

  export function to_luastring(text: string): Uint8Array;
  export function to_jsstring(text: Uint8Array): string;

  export const lua: {
    /** As many results as there are. */
    readonly LUA_MULTRET: number;
    lua_getfield(state: State, index: number, key: Uint8Array): number;
    lua_gettop(state: State): number;
    lua_isboolean(state: State, index: number): boolean;
    lua_istable(state: State, index: number): boolean;
    lua_newtable(state: State): void;
    lua_pcall(state: State, parameters: number, results: number, handler: number): number;
    lua_pushboolean(state: State, value: boolean): void;
    lua_pushglobaltable(state: State): void;
    lua_pushnumber(state: State, value: number): void;
    lua_pushstring(state: State, value: Uint8Array): void;
    lua_pushvalue(state: State, index: number): void;
    lua_rawset(state: State, index: number): void;
    lua_rawseti(state: State, index: number, position: number): void;
    lua_setglobal(state: State, name: Uint8Array): void;
    lua_setmetatable(state: State, index: number): void;
    lua_settop(state: State, index: number): void;
    lua_setupvalue(state: State, index: number, upvalue: number): Uint8Array | null;
    lua_toboolean(state: State, index: number): boolean;
    lua_tostring(state: State, index: number): Uint8Array | null;
  };

  export const lauxlib: {
    luaL_newstate(): State;
    luaL_checkstack(state: State, size: number, message: Uint8Array | null): void;
    luaL_loadstring(state: State, program: Uint8Array): number;
    luaL_requiref(state: State, name: Uint8Array, open: (state: State) => number, global: number): void;
  };

  export const lualib: {
    luaL_openlibs(state: State): void;
    luaopen_base(state: State): number;
    luaopen_table(state: State): number;
  };
}
