#!/usr/bin/env node
// Starts the program in the package of this platform, and passes on its arguments, signals and exit code.
"use strict";
const { spawn } = require("node:child_process");
const path = require("node:path");

const name = `ibid-research-${process.platform}-${process.arch}`;
let program;
try {
  program = path.join(path.dirname(require.resolve(`${name}/package.json`)), "bin", "ibid");
} catch {
  console.error(`error: the package ${name} is not installed`);
  console.error("hint: Ibid runs on Linux on x64 and arm64; there, install without --omit=optional");
  process.exit(4);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // A terminal sends SIGINT to the program itself; the launcher must only outlive it.
  process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
}
child.on("error", (fault) => {
  console.error(`error: cannot start ${program}: ${fault.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
