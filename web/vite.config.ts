import { readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const OUT = "../src/lowd/explorer/static";
const BUNDLED = ["preact", "@preact/signals", "@preact/signals-core", "@uwdata/flechette"];

/** The licenses of the libraries in the bundle: in each script, so that every copy carries them
 * (a static file too), and as a file beside them. */
function licenses(): Plugin {
  return {
    name: "licenses",
    generateBundle(_, bundle) {
      const texts = BUNDLED.map((name) => {
        const folder = `node_modules/${name}`;
        const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as { version: string };
        return `${name} ${version}\n\n${readFileSync(`${folder}/LICENSE`, "utf8").trim()}\n`;
      });
      const lead = "The explorer of lowd contains these libraries:\n";
      const source = [lead, ...texts].join(`\n${"-".repeat(72)}\n\n`);
      this.emitFile({ type: "asset", fileName: "licenses.txt", source });
      for (const file of Object.values(bundle))
        if (file.type === "chunk") file.code = `/*!\n${source.replaceAll("*/", "* /")}*/\n${file.code}`;
    },
  };
}

// One classic script with its style beside it; a notebook makes a module of the same script.
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [licenses()],
  server: {
    proxy: {
      "/api": { target: "http://127.0.0.1:8765", changeOrigin: true, headers: { Authorization: "Bearer dev" } },
    },
  },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    rolldownOptions: { output: { minify: true } },
    lib: { entry: "src/app.ts", formats: ["iife"], name: "lowdExplorer", fileName: () => "app.js", cssFileName: "app" },
  },
  define: { "process.env.NODE_ENV": '"production"' },
  test: { include: ["tests/**/*.test.ts"] },
});
